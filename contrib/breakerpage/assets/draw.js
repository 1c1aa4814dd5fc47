"use strict";
// Sparklines: for each reading a column of calls that succeeded, failed and
// were refused, under a band of the state.
const Draw = (() => {
  let colours;

  function readColours() {
    const style = getComputedStyle(document.body);
    colours = {};
    for (const name of ["ok", "failed", "refused", "open", "half-open", "line", "void"]) {
      colours[name] = style.getPropertyValue("--" + name).trim();
    }
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = null; });

  const bandHeight = 4;

  // sparkline draws the points up to tick into a canvas, newest at the right.
  // past has rings ok, failed, refused and states; first is the first tick known.
  function sparkline(canvas, past, tick, points) {
    if (!colours) readColours();
    const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (width === 0) return;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const g = canvas.getContext("2d");
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.clearRect(0, 0, width, height);
    const room = height - bandHeight - 2, step = width / points;
    const from = Math.max(past.first, tick - points + 1);
    let most = 1;
    for (let t = from; t <= tick; t++) {
      const i = t % points;
      most = Math.max(most, past.ok[i] + past.failed[i] + past.refused[i]);
    }
    const x = t => (points - 1 - (tick - t)) * step;
    if (from > tick - points + 1) {
      g.fillStyle = colours.void;
      g.fillRect(0, 0, x(from), height);
    }
    g.fillStyle = colours.line;
    g.fillRect(x(from), height - 1, width - x(from), 1);
    const thick = Math.max(step * 0.9, 0.6);
    for (let t = from; t <= tick; t++) {
      const i = t % points;
      if (past.states[i] !== Words.CLOSED) {
        g.fillStyle = past.states[i] === Words.OPEN ? colours.open : colours["half-open"];
        g.fillRect(x(t), 0, step + 0.3, bandHeight);
      }
      let y = height - 1;
      for (const kind of ["failed", "ok", "refused"]) {
        const n = past[kind][i];
        if (n === 0) continue;
        const h = Math.max(room * n / most, 1);
        y -= h;
        g.fillStyle = colours[kind];
        g.fillRect(x(t), y, thick, h);
      }
    }
  }

  // summary says what a sparkline shows.
  function summary(past, tick, points) {
    let ok = 0, failed = 0, refused = 0;
    for (let t = Math.max(past.first, tick - points + 1); t <= tick; t++) {
      const i = t % points;
      ok += past.ok[i];
      failed += past.failed[i];
      refused += past.refused[i];
    }
    return Words.count(ok) + " succeeded, " + Words.count(failed) + " failed, " + Words.count(refused) + " refused";
  }

  return { sparkline, summary };
})();
