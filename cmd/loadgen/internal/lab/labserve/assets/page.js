"use strict";

// The page asks an engine two things: to describe a setup, and to run one lane of
// it. The engine is the server that the page is from, or the same code in a worker.
const engine = document.body.dataset.engine === "wasm" ? workerEngine() : serverEngine();

function serverEngine() {
	const get = async (path, signal) => {
		const answer = await fetch(path, {signal});
		if (!answer.ok) throw new Error(await answer.text());
		return answer.json();
	};
	return {
		parallel: true,
		describe: (query, signal) => get("describe?" + query, signal),
		run: (query, lane, signal) => get("run/" + encodeURIComponent(lane) + "?" + query, signal),
	};
}

function workerEngine() {
	const worker = new Worker("worker.js");
	const waiting = new Map();
	let last = 0;
	worker.onmessage = ({data}) => {
		const {resolve, reject} = waiting.get(data.id);
		waiting.delete(data.id);
		data.error ? reject(new Error(data.error)) : resolve(JSON.parse(data.json));
	};
	worker.onerror = e => { for (const w of waiting.values()) w.reject(new Error(e.message || "the worker failed")); waiting.clear(); };
	const ask = (op, query, lane) => new Promise((resolve, reject) => {
		waiting.set(++last, {resolve, reject});
		worker.postMessage({id: last, op, query, lane});
	});
	return {parallel: false, describe: q => ask("describe", q), run: (q, lane) => ask("run", q, lane)};
}

const $ = id => document.getElementById(id);
const form = $("form"), results = $("results"), lanesBox = $("lanes"), second = $("second");
const defaults = new URLSearchParams([...new FormData(form)].filter(([k]) => k !== "lane"));
const defaultLanes = new FormData(form).getAll("lane").join("-");
let described = null, shown = new Map(), turn = 0, abort = null;

function make(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attributes || {})) {
		if (k === "class") e.className = v; else e.setAttribute(k, v);
	}
	e.append(...children);
	return e;
}

// The form and the query of an address.

function queryOfForm() {
	const data = new FormData(form), q = new URLSearchParams();
	for (const [k, v] of data) if (k !== "lane" && v.trim() !== "" && v !== defaults.get(k)) q.set(k, v);
	const lanes = data.getAll("lane").join("-");
	if (lanes && lanes !== defaultLanes) q.set("lanes", lanes);
	return q.toString();
}

function fillForm(query) {
	const q = new URLSearchParams(query);
	for (const e of form.elements) {
		if (e.name === "lane") e.checked = (q.get("lanes") || defaultLanes).split("-").includes(e.value);
		else if (e.name) e.value = q.get(e.name) ?? defaults.get(e.name) ?? "";
	}
	form.querySelectorAll(".slide").forEach(setSlide);
}

// Sliders go by ratios, so that small values have as much room as large ones.
function limits(slide) {
	const e = $("f-" + slide.dataset.for), min = Number(e.min), max = Number(e.max);
	return {e, min, max, low: min > 0 ? min : Math.max(max / 1e4, .5)};
}

function setSlide(slide) {
	const {e, min, max, low} = limits(slide), v = Number(e.value);
	slide.value = v < low ? (min > 0 ? 0 : v / low * 20) : 20 + 980 * Math.log(v / low) / Math.log(max / low);
}

function slid(slide) {
	const {e, min, max, low} = limits(slide), at = Number(slide.value);
	const v = at < 20 ? (min > 0 ? min : 0) : low * Math.pow(max / low, (at - 20) / 980);
	const digits = v < 10 && (e.name === "backoff" || e.name === "errors" || e.name === "cancel" || min > 0 && min < 1) ? 1 : 0;
	const step = v >= 1000 ? 100 : v >= 100 ? 10 : v >= 20 ? 5 : 0;
	e.value = String(step ? Math.min(max, Math.round(v / step) * step) : Number(v.toFixed(digits)));
}

// What is shown.

let timer = 0;
function soon(ms) { clearTimeout(timer); timer = setTimeout(() => show(queryOfForm(), true), ms); }

async function show(query, keep) {
	const mine = ++turn;
	abort?.abort();
	abort = new AbortController();
	results.classList.add("busy");
	try {
		const d = await engine.describe(query, abort.signal);
		if (mine !== turn) return;
		described = d;
		if (keep) history.replaceState(null, "", d.faults.length ? "?" + query : d.query ? "?" + d.query : location.pathname);
		current(d.faults.length ? query : d.query);
		showFaults(d.faults);
		if (d.faults.length) return;
		form.querySelector("#u-amount .help").textContent = d.bad || "of no matter here";
		showCode(d);
		second.max = d.seconds - 1;
		const runs = new Map();
		const one = async lane => {
			const run = await engine.run(query, lane, abort.signal);
			if (mine === turn) runs.set(lane, run), showLane(d, run);
		};
		for (const key of [...shown.keys()]) if (!d.lanes.includes(key)) { shown.get(key).section.remove(); shown.delete(key); }
		if (engine.parallel) await Promise.all(d.lanes.map(one));
		else for (const lane of d.lanes) { if (mine !== turn) return; await one(lane); }
		if (mine !== turn) return;
		showSum(d.lanes.map(l => runs.get(l)));
		results.classList.remove("busy");
	} catch (e) {
		if (mine !== turn || e.name === "AbortError") return;
		showFaults(["It cannot be simulated: " + e.message]);
	}
}

function current(query) {
	document.querySelectorAll(".presets a").forEach(a => {
		const same = new URL(a.href).search.slice(1) === query;
		same ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current");
	});
}

function showFaults(faults) {
	const box = $("faults");
	box.hidden = faults.length === 0;
	box.replaceChildren(...(faults.length ? [make("ul", {}, ...faults.map(f => make("li", {}, f)))] : []));
	for (const e of form.elements) {
		if (!e.name || e.name === "lane") continue;
		const bad = faults.some(f => f.includes("(" + e.name + ")"));
		bad ? e.setAttribute("aria-invalid", "true") : e.removeAttribute("aria-invalid");
	}
}

function showSum(runs) {
	$("sum").tBodies[0].replaceChildren(...runs.map(r => make("tr", {}, make("th", {scope: "row"}, r.title),
		...r.figures.map(f => make("td", f === "never" ? {class: "never"} : {}, f)))));
	$("said").textContent = runs.map(r => r.title + ": " + r.says).join(" ");
}

const keys = {
	latency: [["p50", "median"], ["p99", "99 %"]],
	depth: [["queue", "in the queue"], ["behind", "to try again"], ["window", "probe window"]],
};

function showLane(d, run) {
	let lane = shown.get(run.key);
	if (!lane) {
		lane = {section: make("section", {class: "lane", "aria-labelledby": "h-" + run.key})};
		shown.set(run.key, lane);
		lanesBox.append(lane.section);
	}
	const figures = run.charts.map(c => {
		const svg = `<svg viewBox="0 0 ${d.seconds} 100" preserveAspectRatio="none" role="img" aria-label="${c.title}, ${run.title}">${c.shapes}</svg>`;
		const box = make("div", {class: "box " + c.name});
		box.innerHTML = svg;
		box.append(make("div", {class: "mark"}));
		const key = keys[c.name] ? make("ul", {class: "key"}, ...keys[c.name].map(([k, t]) => make("li", {class: "k-" + k}, t))) : make("span", {}, c.title);
		const head = c.name === "latency" ? make("span", {}, "Latency") : c.name === "depth" ? make("span", {}, "Waiting") : "";
		return make("figure", {}, c.name === "state" ? "" : make("figcaption", {}, make("span", {class: "key"}, head, key), make("span", {}, c.top)), box);
	});
	const axis = make("div", {class: "axis", "aria-hidden": "true"}, make("span", {}, "0 s"), make("span", {}, d.seconds + " s"));
	lane.run = run;
	lane.now = make("dl", {});
	lane.section.replaceChildren(make("h2", {id: "h-" + run.key}, run.title), make("p", {class: "about"}, run.about),
		make("p", {class: "says"}, run.says), ...figures, axis, lane.now);
	lanesBox.append(...d.lanes.filter(k => shown.has(k)).map(k => shown.get(k).section));
	mark(lane, d);
}

const ms = v => v < 0 ? "–" : v >= 1000 ? (v / 1000).toFixed(1) + " s" : Math.round(v) + " ms";
const stateAt = (s, i, all) => {
	const open = s.open[i], half = s.halfOpen[i];
	if (all > 1) return `${all - open - half} closed, ${half} half, ${open} open`;
	return open ? "open" : half ? "half-open" : "closed";
};

// mark shows one second of a lane.
function mark(lane, d) {
	const i = Math.min(Number(second.value), d.seconds - 1), s = lane.run.seconds, n = v => v.toLocaleString("en");
	const fleet = lane.run.key === "alone" ? 1 : Number($("f-fleet").value);
	for (const m of lane.section.querySelectorAll(".mark")) m.style.left = (i + .5) / d.seconds * 100 + "%";
	const items = [["new", n(s.born[i])], ["good", n(s.good[i])], ["failed", n(s.failed[i])], ["refused", n(s.refused[i])],
		["median", ms(s.p50[i])], ["99 %", ms(s.p99[i])], ["queue", n(s.queue[i])], ["retrying", n(s.behind[i])], ["window", s.window[i] ? n(s.window[i]) : "–"]];
	if (lane.run.key !== "none" && lane.run.key !== "oracle") items.push(["state", stateAt(s, i, fleet)]);
	lane.now.replaceChildren(...items.map(([k, v]) => make("div", {}, make("dt", {}, k), make("dd", {}, v))));
}

function moved() {
	$("at").textContent = second.value;
	second.setAttribute("aria-valuetext", "second " + second.value);
	if (described) for (const lane of shown.values()) mark(lane, described);
}

function copied(button, text) {
	const done = () => { const was = button.textContent; button.textContent = "Copied"; setTimeout(() => { button.textContent = was; }, 1200); };
	navigator.clipboard ? navigator.clipboard.writeText(text).then(done, () => prompt("Copy it from here:", text)) : prompt("Copy it from here:", text);
}

function codeBlock(name, text) {
	const button = make("button", {type: "button", "aria-label": "Copy the " + name}, "Copy");
	button.onclick = () => copied(button, text);
	return make("div", {class: "code"}, make("pre", {"data-code": name.toLowerCase(), tabindex: "0", "aria-label": name}, text), button);
}

function showCode(d) {
	$("code").replaceChildren(...d.breakers.map(b => make("div", {}, make("h2", {}, b.title + " to copy"),
		make("div", {class: "codes"}, codeBlock("Go", b.go), codeBlock("YAML", b.yaml)),
		b.findings.length ? make("ul", {class: "findings"}, ...b.findings.map(f => make("li", {}, make("strong", {}, f.name), ": " + f.text)))
			: make("p", {class: "note"}, "Nothing in these settings wants a second look in this setup."))),
	make("div", {class: "sums"}, make("h2", {}, "On the back of an envelope"), ...d.sums.map(s => make("p", {}, s))));
}

form.addEventListener("input", e => {
	if (e.target.classList.contains("slide")) slid(e.target);
	else { const s = form.querySelector(`.slide[data-for="${e.target.name}"]`); if (s) setSlide(s); }
	if (e.target.value === "second" && e.target.checked) $("set-second").open = true;
	soon(180);
});
form.addEventListener("submit", e => { e.preventDefault(); soon(0); });
second.addEventListener("input", moved);
lanesBox.addEventListener("pointermove", e => {
	const box = e.target.closest(".box");
	if (!box || !described) return;
	const r = box.getBoundingClientRect();
	second.value = Math.floor((e.clientX - r.left) / r.width * described.seconds);
	moved();
});
document.addEventListener("click", e => {
	const a = e.target.closest(".presets a, a.button");
	if (!a || e.ctrlKey || e.metaKey || e.shiftKey) return;
	e.preventDefault();
	history.pushState(null, "", a.getAttribute("href") === "?" ? location.pathname : a.href);
	load();
});
$("link").onclick = e => copied(e.target, location.href);
addEventListener("popstate", load);

function load() {
	const query = location.search.slice(1);
	fillForm(query);
	show(query, false);
}

if (matchMedia("(max-width: 900px)").matches) form.querySelectorAll("details").forEach(d => { d.open = false; });
moved();
load();
