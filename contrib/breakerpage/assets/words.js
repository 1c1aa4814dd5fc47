"use strict";
// What is said of breakers, in words. Nothing here touches the page.
const Words = (() => {
  const settings = JSON.parse(document.body.dataset.settings);
  const { states } = settings.words;
  const modes = settings.words.modes.map(m => m.replace("-", " "));
  const reasons = settings.words.reasons.map(r => r.replaceAll("-", " "));
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

  function clock(ms) {
    const t = new Date(ms), two = n => String(n).padStart(2, "0");
    return two(t.getHours()) + ":" + two(t.getMinutes()) + ":" + two(t.getSeconds()) + "." + Math.floor(t.getMilliseconds() / 100);
  }

  // asked tells whether a breaker that refuses is asked at all.
  function asked(r, refusing, now) {
    if (refusing > 0) return "Refuses " + rate(refusing) + "/s.";
    if (r.lastRefusal >= r.since) return "Nobody asks (last " + duration(now - r.lastRefusal) + " ago).";
    return "Nobody has asked since.";
  }

  // doing says what a breaker does now: whether it refuses, who may test
  // recovery, what the tests have shown, and whether anybody asks.
  function doing(r, refusing, now) {
    switch (r.mode) {
      case FORCED_OPEN: return "Held open by an operator. " + asked(r, refusing, now);
      case FORCED_CLOSED: return "Held closed by an operator: lets everything through, whatever fails.";
      case SHADOW:
        return "Shadow: refuses nobody" + (refusing > 0 ? ", would refuse " + rate(refusing) + "/s." : ".");
    }
    switch (r.state) {
      case OPEN: {
        const wait = r.until - now;
        return asked(r, refusing, now) + (wait > 0 ? " A probe may go in " + duration(wait) + "." : " A probe may go now.");
      }
      case HALF_OPEN: {
        if (r.unprobed) return "Waits for a call: the next one is the probe.";
        let s = "Tests: " + r.inFlight + " of " + plural(r.window, "probe") + " under way, ";
        s += count(r.probesOK) + " succeeded, " + count(r.probesBad) + " failed.";
        return refusing > 0 ? s + " Refuses " + rate(refusing) + "/s." : s;
      }
    }
    if (r.calls === 0) return "Lets everything through. No calls in the window.";
    return "Lets everything through. " + count(r.failures) + " of " + count(r.calls) + " failed.";
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

  return { settings, states, modes, reasons, CLOSED, OPEN, HALF_OPEN, AUTO, FORCED_OPEN, FORCED_CLOSED, SHADOW, count, plural, rate, percent, duration, clock, doing, change };
})();
