"use strict";
// What is said of breakers, in words. Nothing here touches the page.
const Words = (() => {
  const settings = JSON.parse(document.body.dataset.settings);
  const { states } = settings.words;
  const modes = settings.words.modes.map(m => m.replace("-", " "));
  const reasons = settings.words.reasons.map(r => r.replaceAll("-", " "));
  const kinds = settings.words.kinds;
  const CLOSED = 0, OPEN = 1, HALF_OPEN = 2;
  const AUTO = 0, FORCED_OPEN = 1, FORCED_CLOSED = 2, SHADOW = 3;

  const thousands = new Intl.NumberFormat("en");
  const count = n => thousands.format(n);

  // plural is "1 call" or "2 calls".
  const plural = (n, word) => count(n) + " " + word + (n === 1 ? "" : "s");

  // rate is a number a second with the digits that mean something.
  function rate(n) {
    if (n === 0) return "0";
    if (n < 1) return n.toFixed(2);
    return n < 10 ? n.toFixed(1) : count(Math.round(n));
  }

  const percent = x => (100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0) + " %";

  // duration of milliseconds, in the two largest units.
  function duration(ms) {
    if (ms > 0 && ms < 0.1) return Math.round(ms * 1000) + " µs";
    if (ms < 10) return Number(Math.max(0, ms).toFixed(1)) + " ms";
    if (ms < 999.5) return Math.round(ms) + " ms";
    const s = ms / 1000;
    if (s < 10) return s.toFixed(1) + " s";
    if (s < 60) return Math.floor(s) + " s";
    const two = (n, unit, rest, small) => Math.floor(n) + " " + unit + (rest >= 1 ? " " + Math.floor(rest) + " " + small : "");
    if (s < 3600) return two(s / 60, "min", s % 60, "s");
    if (s < 86400) return two(s / 3600, "h", s % 3600 / 60, "min");
    return two(s / 86400, "d", s % 86400 / 3600, "h");
  }

  // clock is the time of day, and the date too if that is not the day of now.
  const two = n => String(n).padStart(2, "0");
  function clock(ms, now) {
    const t = new Date(ms), other = now !== undefined && new Date(now).toDateString() !== t.toDateString();
    return (other ? t.getFullYear() + "-" + two(t.getMonth() + 1) + "-" + two(t.getDate()) + " " : "") +
      two(t.getHours()) + ":" + two(t.getMinutes()) + ":" + two(t.getSeconds());
  }
  // zone is the time zone that clock goes by.
  function zone(ms) {
    const minutes = -new Date(ms).getTimezoneOffset(), size = Math.abs(minutes);
    return "UTC" + (minutes === 0 ? "" : (minutes < 0 ? "−" : "+") + two(Math.floor(size / 60)) + ":" + two(size % 60));
  }

  // visible is a text with what cannot be seen, or turns text around, escaped
  // as in the text form.
  const visible = text => text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|\\/gu, c => {
    if (c === "\\") return "\\\\";
    const n = c.codePointAt(0), hex = n.toString(16);
    return n < 0x80 ? "\\x" + hex.padStart(2, "0") : n < 0x10000 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
  });

  // asked tells whether a breaker that refuses is asked at all.
  function asked(r, refusing, now) {
    if (refusing > 0) return "Refuses " + rate(refusing) + "/s.";
    if (r.lastRefusal >= r.since) return "Nobody asks (last " + duration(now - r.lastRefusal) + " ago).";
    return "Nobody has asked since.";
  }

  // held says who holds a breaker, until when and why, if that is known.
  function held(r, now) {
    if (!r.held) return "";
    const { user, reason, until } = r.held;
    return (until ? " Until " + clock(until, now) + "," : " Until further notice,") + (user ? " by " + user : "") + " because: " + visible(reason) + ".";
  }

  // outage says since when a breaker has not been closed, and why.
  function outage(r, now) {
    if (!r.outage) return "";
    return " Since " + clock(r.outage, now) + (r.rule ? " (" + reasons[r.rule] + ")" : "") +
      (r.reopened ? ", reopened " + (r.reopened === 1 ? "once" : count(r.reopened) + " times") : "") +
      (r.errorKind ? ", last error: " + kinds[r.errorKind - 1] : "") + ".";
  }

  // doing says what a breaker does now: whether it refuses, who may test
  // recovery, what the tests have shown, whether anybody asks, and since when
  // it has not been closed.
  const doing = (r, refusing, now, would) => acting(r, refusing, now, would) + held(r, now) + outage(r, now);

  function acting(r, refusing, now, would) {
    switch (r.mode) {
      case FORCED_OPEN: return "Held open by an operator. " + asked(r, refusing, now);
      case FORCED_CLOSED: return "Held closed by an operator: lets everything through, whatever fails.";
      case SHADOW:
        return "Shadow: refuses nobody" + (would > 0 ? ", would refuse " + rate(would) + "/s." : ".");
    }
    switch (r.state) {
      case OPEN: {
        if (r.waiting) return asked(r, refusing, now) + " Waits for its lease for " + duration(now - r.waiting) + " now.";
        const wait = r.until - now;
        return asked(r, refusing, now) + (wait > 0 ? " A probe may go in " + duration(wait) + "." : " A probe may go now.");
      }
      case HALF_OPEN: {
        if (r.unprobed) return "Waits for a call: the next one is the probe.";
        const braked = r.rule && reasons[r.rule] === "near deadline" && !r.reopened;
        let s = braked ? "Braked, because callers would soon give up. " : "";
        s += (r.alone ? "Tests alone, its lease gives no answer: " : "Tests: ") + r.inFlight + " of " + plural(r.window, "probe") + " under way, ";
        s += count(r.probesOK) + " succeeded, " + count(r.probesBad) + " failed.";
        return refusing > 0 ? s + " Refuses " + rate(refusing) + "/s." : s;
      }
    }
    if (r.calls === 0) return "Lets everything through. No calls in the window.";
    return "Lets everything through. " + count(r.failures) + " of " + count(r.calls) + " failed" + (r.near > 0 ? ", " + percent(r.near / 1000) + " of the way to opening." : ".") +
      (r.usual ? " Usually " + duration(r.usual / 1000) + ", 95 % within " + duration(r.high / 1000) + "." : "") +
      (r.lately ? " Opened " + (r.lately === 1 ? "once" : count(r.lately) + " times") + " in 15 min." : "");
  }

  // over says what an outage was that is over.
  function over(o, now) {
    return { shown: duration(o.ended - o.began), why: clock(o.began, now) + " to " + clock(o.ended, now) + ", " + reasons[o.reason] +
      (o.gone ? "; the breaker is gone" : "; " + reasons[o.ending]) + (o.reopened ? ", reopened " + count(o.reopened) + " times" : "") +
      (o.refused ? ", " + plural(o.refused, "call") + " refused" : "") };
  }

  // command says what an operator did.
  function command(a, now) {
    const what = a.action === "mode" ? "set to " + modes[a.mode] : a.action;
    return { shown: what + (a.until ? " until " + clock(a.until, now) : ""),
      why: (a.user || "somebody") + ": " + visible(a.reason) + (a.result === "done" ? "" : " (" + a.result + ")") };
  }

  // change says what an event was.
  function change(e) {
    const shown = states[e.from] + " → " + states[e.to];
    let why = reasons[e.reason];
    if (e.calls > 0) {
      const what = e.from === HALF_OPEN ? "probe" : "call";
      why += ", " + count(e.failures) + " of " + plural(e.calls, what) + " failed";
    }
    return { shown, why };
  }

  return { settings, states, modes, reasons, kinds, visible, zone, outage, over, command, CLOSED, OPEN, HALF_OPEN, AUTO, FORCED_OPEN, FORCED_CLOSED, SHADOW, count, plural, rate, percent, duration, clock, doing, change };
})();
