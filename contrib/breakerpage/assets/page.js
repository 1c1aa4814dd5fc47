"use strict";
(() => {
  const { CLOSED, OPEN, HALF_OPEN, AUTO } = Words;
  const $ = id => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") e.className = value;
      else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else e.setAttribute(name, value);
    }
    e.append(...children);
    return e;
  };
  // put changes a text only if it is another one: screen readers and layout
  // have nothing to do then.
  const put = (e, text) => { if (e.textContent !== text) e.textContent = text; };

  // ---- what the server has told ----

  const fields = ["state", "mode", "reason", "since", "calls", "failures", "slow", "succeeded", "failed", "refused",
    "opened", "openBefore", "until", "inFlight", "window", "unprobed", "probesOK", "probesBad", "lastOutcome", "lastRefusal", "would", "outage", "rule", "reopened", "lately", "waiting", "alone", "members", "near", "usual", "high", "errorKind"];
  let rows = new Map(), byName = new Map(), events = [], outages = [], audit = [], heldRows = [];
  let tick = 0, now = 0, arrived = 0, points = 180, interval = 1000, times = [], next = 1000;

  function past(row) {
    if (!row.past) {
      row.past = {
        first: tick, ok: new Uint32Array(points), failed: new Uint32Array(points), refused: new Uint32Array(points),
        states: new Uint8Array(points),
      };
    }
    return row.past;
  }

  function take(message) {
    const m = JSON.parse(message);
    if (m.whole) {
      rows = new Map();
      byName = new Map();
      events = [];
      outages = [];
      audit = [];
      heldRows = [];
      points = m.points;
      interval = m.interval;
      times = new Array(points).fill(0);
    }
    tick = m.tick;
    now = m.now;
    arrived = performance.now();
    next = Math.max(m.next, interval);
    times[tick % points] = now;
    const names = Object.entries(m.names);
    for (const [id, name] of names) {
      const row = { id: Number(id), name, shown: Words.visible(name), lower: name.toLowerCase(), recent: [], born: tick };
      rows.set(row.id, row);
      byName.set(name, row);
    }
    if (names.length) rank();
    if (m.whole && view.cursor) view.cursor = byName.get(view.cursor.name) || null;
    for (const values of m.rows) {
      const row = rows.get(values[0]);
      fields.forEach((f, i) => { row[f] = values[i + 1]; });
    }
    for (const id of m.gone) {
      const row = rows.get(id);
      rows.delete(id);
      if (row && byName.get(row.name) === row) byName.delete(row.name);
    }
    const slot = tick % points;
    for (const row of rows.values()) {
      if (row.past) {
        row.past.ok[slot] = row.past.failed[slot] = row.past.refused[slot] = 0;
        row.past.states[slot] = row.state;
      }
    }
    for (const [id, ok, failed, refused, would] of m.rises) {
      const row = rows.get(id);
      if (!row) continue;
      // Rows out of sight are asked for no rate: what is old goes here.
      while (row.recent.length && row.recent[0][0] <= tick - rateOver) row.recent.shift();
      row.recent.push([tick, ok, failed, refused, would]);
      if (row.past) [row.past.ok[slot], row.past.failed[slot], row.past.refused[slot]] = [ok, failed, refused];
    }
    for (const [number, time, name, from, to, reason, calls, failures] of m.events) {
      if (events.length && events[events.length - 1].number >= number) continue;
      events.push({ number, time, name, from, to, reason, calls, failures });
    }
    events.splice(0, events.length - 1024);
    for (const [number, name, began, ended, reason, ending, reopened, refused, gone] of m.outages) {
      outages.push({ number, name, began, ended, reason, ending, reopened, refused, gone });
    }
    outages.splice(0, outages.length - 256);
    for (const [number, time, user, name, action, mode, reason, until, result] of m.audit) {
      audit.push({ number, time, user, name, action, mode, reason, until, result });
    }
    audit.splice(0, audit.length - 256);
    for (const row of heldRows) row.held = null;
    heldRows = [];
    for (const [id, user, reason, until] of m.held) {
      const row = rows.get(id);
      if (!row) continue;
      row.held = { user, reason, until };
      heldRows.push(row);
    }
    say(m.whole ? [] : events.slice(-m.events.length || events.length));
    told = m;
    document.body.dataset.tick = tick; // for whoever looks from outside
    notice();
    paint();
  }

  // rank numbers the rows by name, 9 before 10, whenever there are new ones.
  const collator = new Intl.Collator("en", { numeric: true });
  function rank() {
    [...rows.values()].sort((a, b) => collator.compare(a.name, b.name)).forEach((r, i) => { r.rank = i; });
  }

  // A rate is taken over the last readings.
  const rateOver = 5;
  function recent(row, kind) {
    while (row.recent.length && row.recent[0][0] <= tick - rateOver) row.recent.shift();
    const start = times[(tick - rateOver + points) % points];
    const span = start && start < now ? now - start : Math.max(interval, now - Math.min(...times.filter(t => t)));
    let n = 0;
    for (const r of row.recent) for (const k of kind) n += r[k];
    return n === 0 || !span ? 0 : n * 1000 / span;
  }
  const callRate = row => recent(row, [1, 2]);
  const refusalRate = row => recent(row, [3]);
  const wouldRate = row => recent(row, [4]);
  const saysOf = row => Words.doing(row, refusalRate(row), clockNow(), wouldRate(row));
  const share = row => row.state === CLOSED && row.calls ? row.failures / row.calls : 0;
  // clockNow is the server's clock, as far as it is known here. It stands still
  // when there is no news: nobody knows what happens then.
  const silence = () => (lost || performance.now()) - arrived;
  const patience = () => 2 * next + 1000;
  const stale = () => now > 0 && (lost > 0 || silence() > patience());
  const clockNow = () => now + (paused ? 0 : Math.min(silence(), patience()));
  const openTime = row => row.openBefore + (row.state === OPEN ? clockNow() - row.since : 0);

  // ---- the past of the rows in sight ----

  const wanted = new Set();
  let asking = false;
  async function askHistory() {
    if (asking || wanted.size === 0) return;
    asking = true;
    const ids = [...wanted].slice(0, 200), known = rows;
    ids.forEach(id => wanted.delete(id));
    try {
      const answer = await (await fetch("?history=" + ids.join(","))).json();
      if (known !== rows) return; // the server has begun anew
      for (const [id, values] of Object.entries(answer.rows)) {
        const row = rows.get(Number(id));
        if (row) fill(row, values, answer.tick);
      }
      paint();
    } catch {
      ids.forEach(id => { const row = rows.get(id); if (row) row.asked = false; });
    } finally {
      asking = false;
      if (wanted.size) setTimeout(askHistory, 50);
    }
  }

  function fill(row, values, upTo) {
    const p = past(row), first = values[0];
    for (let t = first, i = 1; t <= upTo; t++, i += 4) {
      if (t <= tick - points) continue;
      const slot = t % points;
      [p.ok[slot], p.failed[slot], p.refused[slot], p.states[slot]] = values.slice(i, i + 4);
    }
    for (let t = upTo + 1; t <= tick; t++) p.states[t % points] = row.state;
    for (const [t, ok, failed, refused] of row.recent) {
      if (t > upTo) [p.ok[t % points], p.failed[t % points], p.refused[t % points]] = [ok, failed, refused];
    }
    p.first = first;
  }

  // ---- what is shown ----

  const view = { search: "", state: null, sort: "urgency", down: true, list: [], cursor: null };
  let paused = false, pending = false;

  function paint() {
    if (pending || paused) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; render(); });
  }

  const groups = [
    { key: "open", label: "open", is: r => r.state === OPEN },
    { key: "half-open", label: "half-open", is: r => r.state === HALF_OPEN },
    { key: "closed", label: "closed", is: r => r.state === CLOSED },
    { key: "held", label: "held by an operator", is: r => r.mode === Words.FORCED_OPEN || r.mode === Words.FORCED_CLOSED },
    { key: "shadow", label: "in shadow", is: r => r.mode === Words.SHADOW },
  ];

  const sorts = {
    urgency: r => r.state !== CLOSED ? 2 : r.mode !== AUTO ? 1 : 0,
    name: null,
    calls: callRate, share, near: r => r.state === CLOSED ? r.near : -1, refused: refusalRate, open: openTime, changed: r => r.since,
  };

  function choose() {
    const group = groups.find(g => g.key === view.state);
    const list = [];
    for (const r of rows.values()) {
      if ((!view.search || r.lower.includes(view.search)) && (!group || group.is(r))) list.push(r);
    }
    const key = sorts[view.sort], sign = view.down ? -1 : 1;
    const byText = (a, b) => a.rank - b.rank;
    if (key) {
      for (const r of list) r.key = key(r);
      list.sort((a, b) => a.key !== b.key ? sign * (a.key - b.key) : byText(a, b));
    } else {
      list.sort((a, b) => -sign * byText(a, b));
    }
    view.list = list;
  }

  function render() {
    choose();
    document.body.classList.toggle("few", rows.size <= 5);
    document.body.classList.toggle("stale", stale());
    renderSums();
    renderBulk();
    renderRows();
    renderEvents();
    renderDetail();
  }

  const sums = groups.map(g => {
    const number = make("strong", {}, "–");
    const button = make("button", { type: "button", "aria-pressed": "false", onclick: () => {
      view.state = view.state === g.key ? null : g.key;
      scrollTo({ top: 0 });
      render();
    } }, number, " " + g.label);
    $("sums").append(button);
    return { g, number, button };
  });

  function renderSums() {
    const counts = groups.map(() => 0);
    for (const r of rows.values()) groups.forEach((g, i) => { if (g.is(r)) counts[i]++; });
    sums.forEach((s, i) => {
      put(s.number, now ? Words.count(counts[i]) : "–");
      s.button.setAttribute("aria-pressed", String(view.state === s.g.key));
    });
    const shown = view.list.length, all = rows.size;
    put($("count"), !now ? "" : shown === all ? Words.plural(all, "breaker") : Words.count(shown) + " of " + Words.plural(all, "breaker"));
    $("empty").hidden = shown > 0;
    put($("empty"), !now ? "Nothing is known yet." : all === 0 ? "No breaker has been added yet." : "No breaker matches.");
    put($("past"), "Past " + Words.duration(points * interval));
    for (const h of document.querySelectorAll("[data-sort]")) {
      const on = h.dataset.sort === view.sort;
      if (on) h.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else h.removeAttribute("aria-sort");
    }
  }

  // Only rows in sight exist. Their elements are used again for other rows.
  const pool = [];
  function rowElement(i) {
    if (pool[i]) return pool[i];
    const e = {
      badge: make("span", { class: "badge" }), since: make("span", { class: "for" }),
      name: make("button", { type: "button", class: "name", tabindex: "-1" }), says: make("span", { class: "says" }),
      calls: make("span", { role: "cell", class: "c-calls" }), share: make("span", { role: "cell", class: "c-share" }),
      refused: make("span", { role: "cell", class: "c-refused" }), canvas: make("canvas", { role: "img" }),
    };
    const state = make("span", { role: "cell", class: "c-state" }, e.badge, e.since);
    if (Words.settings.writable) {
      e.pick = make("input", { type: "checkbox", class: "pick", tabindex: "-1" });
      e.pick.addEventListener("click", event => event.stopPropagation());
      e.pick.addEventListener("change", () => {
        if (e.pick.checked) selected.add(e.of.name);
        else selected.delete(e.of.name);
        renderBulk();
      });
      state.prepend(e.pick);
    }
    e.row = make("div", { role: "row", class: "row" }, state, make("span", { role: "cell", class: "c-name" }, e.name, e.says),
      e.calls, e.share, e.refused, make("span", { role: "cell", class: "c-past" }, e.canvas));
    e.row.addEventListener("click", () => { if (e.of) openDetail(e.of); });
    $("rows").append(e.row);
    return pool[i] = e;
  }

  const rowHeight = () => parseFloat(getComputedStyle(document.body).getPropertyValue("--row"));
  const elementOf = row => pool.find(e => e.of && e.of === row);

  // The focus follows the breaker that has it, or goes to the cursor.
  function renderRows(toCursor = false) {
    const box = $("rows"), height = rowHeight(), list = view.list;
    box.style.height = list.length * height + "px";
    $("table").setAttribute("aria-rowcount", String(list.length + 1));
    const top = -box.getBoundingClientRect().top;
    const first = Math.min(Math.max(0, Math.floor(top / height) - 2), list.length);
    const last = Math.min(list.length, Math.max(first, Math.ceil((top + innerHeight) / height) + 2));
    const focused = box.contains(document.activeElement) && document.activeElement;
    const holder = pool.find(e => e.name === focused && e.of);
    if (holder && !toCursor) view.cursor = holder.of;
    if (!list.includes(view.cursor)) view.cursor = null;
    while (pool.length < last - first) rowElement(pool.length);
    for (const e of pool) e.of = null;
    // The row at a place keeps its element while it stays in sight.
    for (let i = first; i < last; i++) {
      const e = pool[i % pool.length];
      e.of = list[i];
      e.at = i;
      renderRow(e, e.of, i, height);
    }
    for (const e of pool) e.row.style.display = e.of ? "" : "none";
    if ((focused || toCursor) && view.cursor) {
      const e = elementOf(view.cursor);
      if (!e) box.focus({ preventScroll: true });
      else if (e.name !== focused) e.name.focus({ preventScroll: true });
    }
    askHistory();
  }

  function badge(e, r) {
    const forced = r.mode === Words.FORCED_OPEN || r.mode === Words.FORCED_CLOSED;
    put(e, r.mode === AUTO ? Words.states[r.state] : r.mode === Words.SHADOW ? Words.states[r.state] + ", shadow" : Words.modes[r.mode]);
    e.className = "badge " + (forced ? "held" : Words.states[r.state]);
  }

  function renderRow(e, r, i, height) {
    const at = clockNow(), refusing = refusalRate(r);
    e.row.style.transform = "translateY(" + i * height + "px)";
    e.row.className = "row is-" + Words.states[r.state];
    e.row.setAttribute("aria-rowindex", String(i + 2));
    badge(e.badge, r);
    put(e.since, Words.duration(at - (r.outage || r.since)));
    put(e.name, r.shown || "(no name)");
    e.name.title = r.shown;
    if (e.pick) {
      e.pick.checked = selected.has(r.name);
      e.pick.setAttribute("aria-label", "Select " + (r.shown || "(no name)"));
    }
    e.name.tabIndex = r === view.cursor || !view.cursor && i === 0 ? 0 : -1;
    put(e.says, saysOf(r));
    e.says.title = e.says.textContent;
    put(e.calls, Words.rate(callRate(r)));
    put(e.share, r.state === CLOSED && r.calls ? Words.percent(share(r)) : "–");
    e.share.classList.toggle("some", share(r) > 0);
    put(e.refused, Words.rate(refusing));
    e.refused.classList.toggle("some", refusing > 0);
    if (!r.asked) {
      r.asked = true;
      wanted.add(r.id);
    }
    Draw.sparkline(e.canvas, past(r), tick, points);
    e.canvas.setAttribute("aria-label", "Past: " + Draw.summary(r.past, tick, points));
  }

  // ---- moving about ----

  function moveTo(i) {
    if (view.list.length === 0) return;
    i = Math.min(Math.max(i, 0), view.list.length - 1);
    view.cursor = view.list[i];
    const height = rowHeight(), box = $("rows").getBoundingClientRect();
    const head = document.querySelector(".head").offsetHeight;
    const y = box.top + i * height;
    if (y < head) scrollBy(0, y - head);
    else if (y + height > innerHeight) scrollBy(0, y + height - innerHeight);
    renderRows(true);
  }

  $("rows").addEventListener("keydown", event => {
    if (event.target.tagName !== "BUTTON" && event.target !== $("rows")) return;
    const at = view.list.indexOf(view.cursor), page = Math.max(1, Math.floor(innerHeight / rowHeight()) - 2);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: view.list.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    moveTo(to);
  });
  $("rows").addEventListener("focusin", event => {
    const e = pool.find(p => p.of && p.name === event.target);
    if (e) view.cursor = e.of;
  });
  document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); moveTo(0); });
  addEventListener("keydown", event => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName) && !$("detail").open) {
      event.preventDefault();
      $("search").focus();
    }
  });
  $("search").addEventListener("input", () => { view.search = $("search").value.trim().toLowerCase(); scrollTo({ top: 0 }); render(); });
  function sortBy(key) {
    view.down = view.sort === key ? !view.down : true;
    view.sort = key;
    $("sort").value = key;
    scrollTo({ top: 0 });
    render();
  }
  $("sort").addEventListener("change", () => { view.sort = ""; sortBy($("sort").value); });
  for (const h of document.querySelectorAll("[data-sort]")) h.querySelector("button").addEventListener("click", () => sortBy(h.dataset.sort));
  for (const which of ["breakers", "timeline"]) {
    $("tab-" + which).addEventListener("click", () => {
      document.body.classList.toggle("on-timeline", which === "timeline");
      $("tab-breakers").setAttribute("aria-pressed", String(which === "breakers"));
      $("tab-timeline").setAttribute("aria-pressed", String(which === "timeline"));
      render();
    });
  }
  addEventListener("scroll", () => { if (!paused) paint(); else renderRows(); }, { passive: true });
  addEventListener("resize", () => renderRows());
  $("pause").addEventListener("click", () => {
    paused = !paused;
    $("pause").setAttribute("aria-pressed", String(paused));
    put($("pause"), paused ? "Go on" : "Pause");
    connection();
    paint();
  });

  // ---- changes of state ----

  const maxShown = 200;
  let shownEvents = null;
  function eventItem(e, named) {
    const { shown, why } = Words.change(e);
    const item = make("li", { class: "to-" + Words.states[e.to] },
      make("time", { datetime: new Date(e.time).toISOString() }, Words.clock(e.time, now)));
    if (named) item.append(make("strong", {}, Words.visible(e.name) || "(no name)"), " ");
    item.append(shown, make("span", {}, why));
    return item;
  }
  const item = (kind, name, { shown, why }) => {
    const e = make("li", { class: kind });
    if (name !== null) e.append(make("strong", {}, Words.visible(name) || "(no name)"), " ");
    e.append(shown, make("span", {}, why));
    return e;
  };
  const none = text => make("li", {}, text);

  // Outages that last are at the top for as long as they do, whatever else
  // happens; those that are over follow, the latest first.
  const found = name => !view.search || name.toLowerCase().includes(view.search);
  function renderOutages() {
    const at = clockNow();
    const live = [...rows.values()].filter(r => r.outage && found(r.name)).sort((a, b) => a.outage - b.outage);
    const list = live.slice(0, 50).map(r => item("to-open", r.name, { shown: "for " + Words.duration(at - r.outage), why: Words.outage(r, at).trim() }));
    if (live.length > 50) list.push(none("and " + Words.count(live.length - 50) + " more that last"));
    for (let i = outages.length - 1; i >= 0 && list.length < 60 + Math.min(live.length, 50); i--) {
      if (found(outages[i].name)) list.push(item("to-closed", outages[i].name, Words.over(outages[i], at)));
    }
    replaceItems($("outages"), list, "None yet.");
    replaceItems($("audit"), audit.slice(-50).reverse().filter(a => found(a.name)).map(a => item("", a.name, Words.command(a, at))), "None yet.");
    put($("zone"), Words.zone(now || Date.now()));
  }

  // replaceItems changes a list only where its text changes.
  function replaceItems(list, items, empty) {
    if (items.length === 0) items = [none(empty)];
    while (list.children.length > items.length) list.lastChild.remove();
    items.forEach((e, i) => {
      const old = list.children[i];
      if (!old) list.append(e);
      else if (old.textContent !== e.textContent || old.className !== e.className) old.replaceWith(e);
    });
  }
  // Without probing only what begins and ends an outage is shown.
  const matters = e => $("probing").checked || e.from === CLOSED || e.to === CLOSED;
  function renderEvents() {
    renderOutages();
    const list = [];
    for (let i = events.length - 1; i >= 0 && list.length < maxShown; i--) {
      const e = events[i];
      if (matters(e) && (!view.search || e.name.toLowerCase().includes(view.search))) list.push(e);
    }
    const key = list.map(e => e.number).join() + new Date(now).toDateString();
    if (key === shownEvents) return;
    shownEvents = key;
    $("events").replaceChildren(...list.map(e => eventItem(e, true)));
    if (list.length === 0) $("events").append(make("li", {}, "None yet."));
  }
  $("probing").addEventListener("change", renderEvents);

  // say tells those who do not see the page of outages that begin and end.
  function say(news) {
    for (const to of [OPEN, CLOSED]) {
      const names = new Set(news.filter(e => e.to === to && (e.from === CLOSED || to === CLOSED)).map(e => Words.visible(e.name)));
      if (names.size === 0) continue;
      const who = names.size <= 3 ? [...names].join(", ") : Words.plural(names.size, "breaker");
      $("said").append(make("p", {}, who + (to === OPEN ? " opened" : " closed")));
    }
    while ($("said").childElementCount > 20) $("said").firstChild.remove();
  }

  let told = null;
  function notice() {
    const m = told || {}, texts = [];
    if (stale()) texts.push("No news since " + Words.clock(now, Date.now()) + ": what is shown is as of then.");
    if (m.clashes) texts.push(Words.plural(m.clashes, "breaker") + " left out because another one has their name.");
    if (m.unrecorded) texts.push("There was no room to record some changes of state.");
    if (events.length === 0 && [...rows.values()].some(r => r.opened > 0)) {
      texts.push("No changes of state are told of: make the breakers with Watch.Config to see them.");
    }
    $("notice").hidden = texts.length === 0;
    put($("notice"), texts.join(" "));
  }

  // ---- one breaker ----

  let detail = null, detailTimer = 0;
  function openDetail(row) {
    clearTimeout(detailTimer);
    detail = { name: row.name, parts: detailParts(row) };
    view.cursor = row;
    $("detail").replaceChildren(...detail.parts.all);
    $("detail").showModal();
    askDetail();
    render();
  }
  $("detail").addEventListener("close", () => {
    if ($("detail").open) return; // told late: it shows another breaker by now
    clearTimeout(detailTimer);
    detail = null;
    const e = elementOf(view.cursor);
    if (e) e.name.focus();
  });
  $("detail").addEventListener("click", event => { if (event.target === $("detail")) $("detail").close(); });

  function detailParts(row) {
    const p = {
      badge: make("span", { class: "badge" }), says: make("p", {}), canvas: make("canvas", { role: "img" }), legend: make("p", { class: "legend" }),
      hour: make("canvas", { role: "img" }), hourLegend: make("p", { class: "legend" }), outages: make("ol"), audit: make("ol"),
      facts: make("dl", { class: "facts" }), latency: make("div", { class: "latency" }), events: make("ol"), answer: make("p", { class: "answer", role: "alert" }),
    };
    const header = make("header", {}, make("div", {}, make("h2", { id: "detail-name" }, row.shown || "(no name)"), p.badge),
      make("button", { type: "button", onclick: () => $("detail").close() }, "Close"));
    p.all = [header, p.says];
    if (Words.settings.writable) {
      p.commands = commands(() => [row.name], () => { clearTimeout(detailTimer); askDetail(); });
      p.all.push(make("h3", {}, "Commands"), p.commands.all);
    }
    p.all.push(p.canvas, p.legend, p.hour, p.hourLegend, make("h3", {}, "Figures"), p.facts, make("h3", {}, "Outages"), p.outages,
      make("h3", {}, "How long probes took"), p.latency, make("h3", {}, "Changes of state"), p.events, make("h3", {}, "Commands so far"), p.audit);
    return p;
  }

  function renderDetail() {
    if (!detail) return;
    const r = byName.get(detail.name), p = detail.parts;
    if (!r) {
      put(p.says, "This breaker is gone.");
      return;
    }
    badge(p.badge, r);
    put(p.says, saysOf(r));
    if (p.commands) p.commands.follow(r.mode);
    const summary = Draw.summary(past(r), tick, points);
    Draw.sparkline(p.canvas, r.past, tick, points);
    p.canvas.setAttribute("aria-label", "Past: " + summary);
    put(p.legend, "Past " + Words.duration(points * interval) + ": " + summary);
  }

  async function askDetail() {
    const asked = detail;
    if (!asked) return;
    try {
      const answer = await fetch("?breaker=" + encodeURIComponent(asked.name));
      if (answer.ok && asked === detail && !paused) fillDetail(await answer.json());
    } catch { /* the stream tells whether there is a connection */ }
    if (asked === detail) detailTimer = setTimeout(askDetail, Math.max(interval, 1000));
  }

  const ms = ns => Words.duration(ns / 1e6);
  const indexOf = (texts, text) => texts.indexOf(text.replaceAll("-", " "));
  function outageOf(b) {
    const o = b.outage;
    if (!o) return "none now";
    return "for " + Words.duration(clockNow() - Date.parse(o.began)) + ", since " + Words.clock(Date.parse(o.began), now) + " " + Words.zone(now) + (o.partial ? " or before" : "") +
      ", because of: " + o.reason.replaceAll("-", " ") + (o.counts.calls ? " (" + Words.count(o.counts.failures) + " of " + Words.plural(o.counts.calls, "call") + " failed)" : "") +
      "; reopened " + Words.count(o.reopened) + " times, " + Words.count(o.probes_succeeded) + " probes succeeded, " + Words.count(o.probes_failed) + " failed; " +
      Words.plural(o.refused, "call") + " refused";
  }
  function errorsOf(b) {
    if (!b.errors) return "not told of: see Watch.Errors";
    return Object.entries(b.errors.kinds).sort((x, y) => y[1] - x[1]).map(([kind, n]) => Words.count(n) + " " + kind).join(", ");
  }
  function limitsOf(b) {
    const l = b.limits, rules = [];
    if (!l) return "not known: see Watch.Config";
    const of = " of " + Words.plural(l.minimum_calls, "call") + " or more";
    if (l.failure_rate) rules.push(Words.percent(l.failure_rate) + " failed" + of);
    if (l.slow_call_rate) rules.push(Words.percent(l.slow_call_rate) + " slow" + of);
    if (l.consecutive_failures) rules.push(Words.plural(l.consecutive_failures, "failure") + " in a row");
    if (l.predicate) rules.push("what ReadyToTrip says");
    const row = byName.get(b.name);
    return rules.join(", or ") + (l.sooner ? "; sooner where calls are few or all begin to fail" : "") +
      (b.state === "closed" && row && row.near >= 0 ? "; " + Words.percent(row.near / 1000) + " of the way by now" : "");
  }
  function latencyOf(l) {
    if (!l.usual_ns) return "not known yet";
    return "usually " + ms(l.usual_ns) + ", 95 of 100 successes within " + ms(l.high_ns) + (l.deadline_ns ? "; callers wait for " + ms(l.deadline_ns) : "");
  }
  function leaseOf(l) {
    if (!l) return "none";
    return (l.waiting_ns ? "waits for " + ms(l.waiting_ns) + (l.holder ? ", held by " + Words.visible(l.holder) : "") + "; " : l.held ? "holds it; " : l.alone ? "goes alone; " : "") +
      (l.members ? Words.plural(l.members, "member") + "; " : "") + Words.count(l.granted) + " granted, " + Words.count(l.refused) + " refused, " + Words.count(l.failed) + " failed" +
      (l.error ? "; last fault: " + Words.visible(l.error) : "");
  }
  function fillHour(p, hour) {
    p.hour.hidden = p.hourLegend.hidden = !hour;
    if (!hour) return;
    const slots = 3.6e12 / hour.every_ns;
    const past = { first: 0, ok: hour.succeeded, failed: hour.failed, refused: hour.refused, states: hour.states }, last = hour.succeeded.length - 1;
    Draw.sparkline(p.hour, past, last, slots);
    const summary = Draw.summary(past, last, slots);
    p.hour.setAttribute("aria-label", "Past hour: " + summary);
    put(p.hourLegend, "Past hour: " + summary);
  }
  function fillDetail({ breaker: b, events: list, latency_bounds_ns: bounds, hour, outages: over, audit: done }) {
    const p = detail.parts, probes = b.probes || { succeeded: 0, slow: 0, failed: 0, ignored: 0, latency_buckets: [] };
    const ago = t => t ? Words.duration(Math.max(0, clockNow() - Date.parse(t))) + " ago" : "never";
    const facts = [
      ["State", b.state + " for " + ms(b.at_ns - b.since_ns) + (b.reason === "none" ? "" : ", because of: " + b.reason.replaceAll("-", " "))],
      ["Outage", outageOf(b)],
      ["Errors", errorsOf(b)],
      ["Last error", b.errors ? (b.errors.last.text || b.errors.last.kind) + ", " + ago(b.errors.last.time) : "–"],
      ["Mode", b.mode.replace("-", " ")],
      ["Rolling window", Words.plural(b.rolling.calls, "call") + ", " + Words.count(b.rolling.failures) + " failed, " + Words.count(b.rolling.slow) + " slow"],
      ["Calls in all", Words.count(b.succeeded) + " succeeded, " + Words.count(b.failed) + " failed" + (b.slow ? ", " + Words.count(b.slow) + " of these slow" : "")],
      ["", Words.count(b.ignored) + " ignored, " + Words.count(b.cancelled) + " cancelled, " + Words.count(b.late) + " late; of the ignored, " + Words.count(b.local) + " local"],
      ["Refused", Words.count(b.refused_open) + " open, " + Words.count(b.refused_half_open) + " half-open, " + Words.count(b.refused_forced) + " forced" +
        (b.would_refuse ? "; " + Words.count(b.would_refuse) + " in shadow mode would have been" : "")],
      ["Opens at", limitsOf(b)],
      ["Latency", latencyOf(b.latency)],
      ["Last outcome", ago(b.last_outcome)],
      ["Last refusal", ago(b.last_refusal)],
      ["Opened", Words.count(b.opened) + " times, " + Words.count(b.opened_15m) + " of these in the last 15 min from closed; open for " + ms(b.time_open_ns) + " in all"],
      ["Probes", Words.count(probes.succeeded) + " succeeded, " + Words.count(probes.failed) + " failed, " + Words.count(probes.slow) + " too slow, " +
        Words.count(probes.ignored) + " ignored, " + Words.count(b.abandoned) + " given up"],
      ["Last probe", b.last_probe.settled ? b.last_probe.outcome + " after " + ms(b.last_probe.latency_ns) : "none"],
      ["Lease", leaseOf(b.lease)],
      ["Generation", String(b.generation)],
    ];
    if (b.listener_panics) facts.push(["Panics of listeners", Words.count(b.listener_panics)]);
    facts.forEach(([term, text], i) => {
      if (!p.facts.children[2 * i]) p.facts.append(make("dt"), make("dd"));
      put(p.facts.children[2 * i], term);
      put(p.facts.children[2 * i + 1], text);
    });
    fillHour(p, hour);
    replaceItems(p.outages, over.slice(-20).reverse().map(o => item("to-closed", null, Words.over({ ...o, began: Date.parse(o.began), ended: Date.parse(o.ended),
      reason: indexOf(Words.reasons, o.reason), ending: indexOf(Words.reasons, o.ending) }, now))), b.outage ? "None that is over." : "None yet.");
    replaceItems(p.audit, done.slice(-20).reverse().map(a => item("", null, Words.command({ ...a, mode: indexOf(Words.modes, a.mode),
      until: a.until ? Date.parse(a.until) : 0 }, now))), "None yet.");
    const most = Math.max(1, ...probes.latency_buckets);
    const bars = [];
    probes.latency_buckets.forEach((n, i) => {
      if (n === 0) return;
      const upTo = i < bounds.length ? "up to " + ms(bounds[i]) : "longer";
      bars.push(make("span", {}, upTo), make("meter", { max: most, value: n, "aria-label": upTo }, String(n)), make("span", {}, Words.count(n)));
    });
    p.latency.replaceChildren(...bars.length ? bars : ["No probe has been judged."]);
    const index = text => Words.states.indexOf(text);
    const items = list.slice(-50).reverse().map(e => eventItem({ time: Date.parse(e.time), from: index(e.from), to: index(e.to),
      reason: Words.reasons.indexOf(e.reason.replaceAll("-", " ")), calls: e.counts.calls, failures: e.counts.failures }, false));
    p.events.replaceChildren(...items.length ? items : [make("li", {}, "None yet.")]);
  }

  // commands are only there if the server takes them. Each has a reason and
  // asks to be clicked twice. After it done is called.
  function commands(names, done) {
    const answer = make("p", { class: "answer", role: "alert" });
    const reason = make("input", { type: "text", class: "reason", maxlength: "200", placeholder: "why", "aria-label": "Reason", autocomplete: "off" });
    const send = async (form) => {
      put(answer, "");
      if (!reason.value.trim()) {
        put(answer, "Say why first.");
        reason.focus();
        return;
      }
      const all = names();
      try {
        for (let i = 0; i < all.length; i += 50) { // a form is bounded
          const body = new URLSearchParams({ reason: reason.value.trim(), ...form });
          for (const name of all.slice(i, i + 50)) body.append("breaker", name);
          const reply = await fetch("?", { method: "POST", body });
          if (!reply.ok) {
            put(answer, (i ? "After the first " + i + ": " : "") + (await reply.text()).trim());
            break;
          }
        }
        touched = false;
        done();
      } catch (error) {
        put(answer, String(error));
      }
    };
    const twice = (label, form) => {
      let timer = 0;
      const button = make("button", { type: "button", onclick: () => {
        const sure = button.classList.toggle("sure");
        clearTimeout(timer);
        put(button, sure ? "Sure? " + label : label);
        if (!sure) return void send(form());
        timer = setTimeout(() => { button.classList.remove("sure"); put(button, label); }, 4000);
      } }, label);
      return button;
    };
    const options = all => all.map(([value, text]) => make("option", { value }, text));
    const mode = make("select", { "aria-label": "Mode" }, ...options(["auto", "forced-open", "forced-closed", "shadow"].map(m => [m, m.replace("-", " ")])));
    const length = make("select", { "aria-label": "For how long" },
      ...options([["1h", "for 1 h"], ["15m", "for 15 min"], ["4h", "for 4 h"], ["24h", "for 24 h"], ["forever", "until further notice"]]));
    let touched = false;
    mode.addEventListener("change", () => { touched = true; show(); });
    const show = () => { length.hidden = mode.value === "auto"; };
    show();
    const all = make("div", {}, make("div", { class: "commands" }, reason, twice("Trip", () => ({ action: "trip" })), twice("Reset", () => ({ action: "reset" })),
      mode, length, twice("Set mode", () => mode.value === "auto" ? { action: "mode", mode: "auto" } : { action: "mode", mode: mode.value, for: length.value })), answer);
    // follow shows the mode that others have set, unless one is being chosen.
    const follow = now => {
      if (touched || mode.selectedIndex === now) return;
      mode.selectedIndex = now;
      show();
    };
    return { all, follow };
  }

  // ---- a selection ----

  const selected = new Set();
  let bulk = null;
  function renderBulk() {
    if (!Words.settings.writable) return;
    const box = $("bulk");
    if (!bulk) {
      bulk = { count: make("strong", { role: "status" }), commands: commands(() => [...selected].filter(n => byName.has(n)), () => {}) };
      box.append(bulk.count, make("button", { type: "button", onclick: () => { view.list.forEach(r => selected.add(r.name)); render(); } }, "Select all that match"),
        make("button", { type: "button", onclick: () => { selected.clear(); render(); } }, "Select none"), bulk.commands.all);
    }
    for (const name of selected) if (!byName.has(name)) selected.delete(name);
    box.hidden = selected.size === 0;
    put(bulk.count, Words.plural(selected.size, "breaker") + " selected");
  }

  // ---- the connection ----

  let source = null, state = "connecting";
  // lost is when the connection was lost, 0 while there is one.
  let lost = 0, retry = 0;
  const key = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2);
  function connection(is) {
    state = is || state;
    put($("link"), paused ? "paused" : state);
    notice();
  }
  function connect() {
    clearTimeout(retry);
    if (source) source.close();
    source = new EventSource("?stream=" + key);
    source.onmessage = message => { lost = 0; take(message.data); connection("live"); };
    source.onerror = () => {
      if (!lost) lost = performance.now();
      const refused = source.readyState === EventSource.CLOSED;
      connection(refused ? "the server refuses; trying again" : "connection lost; trying again");
      if (refused) poll();
      render();
    };
  }
  // A page for which there is no room asks instead, and tries again.
  async function poll() {
    try {
      const answer = await fetch("?state");
      if (answer.ok) {
        const text = await answer.text();
        lost = 0;
        next = 5000;
        take(text);
        next = Math.max(next, 5000);
        connection("too many pages are open: asks every 5 s");
      }
    } catch { /* the connection is lost, as is told already */ }
    clearTimeout(retry);
    retry = setTimeout(() => { if (!document.hidden) connect(); }, 5000);
  }
  setInterval(() => {
    if (!document.hidden && source && source.readyState === EventSource.OPEN) fetch("?alive=" + key).catch(() => {});
  }, 15000);
  // A page that nobody sees costs the server nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source.close();
      clearTimeout(retry);
      connection("paused while hidden");
    } else connect();
  });
  connect();
  setInterval(() => {
    if (paused || document.hidden) return;
    notice();
    if (rows.size) paint();
  }, Math.max(1000, interval));
})();
