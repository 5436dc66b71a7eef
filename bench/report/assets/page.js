"use strict";
(() => {
  const { si, micros, percent, css, dashes, font, logAxis, linearAxis, logRange, showTip, hideTip, ellipsis } = Remora;
  const data = JSON.parse(document.getElementById("data").textContent);
  const colors = data.colors;
  const many = data.targets.length > 1;
  // Cases of one target share its colour and differ in their dashes.
  const seen = data.targets.map(() => 0);
  data.cases.forEach((c, i) => {
    c.index = i;
    c.nth = seen[c.target]++;
    c.color = (many ? c.target : i) % colors;
    c.dash = (many ? c.nth : Math.floor(i / colors)) % dashes.length;
  });
  const facets = data.facets.filter(f => f.values.length > 1);
  const off = new Map(facets.map(f => [f.name, new Set()]));
  const isShown = c => data.facets.every((f, k) => !off.has(f.name) || !off.get(f.name).has(c.facets[k]));
  let shown = data.cases;
  const modes = {};
  const plots = new Map(); // by id of the figure

  const stroke = c => css("--c" + c.color);
  const wide = xs => Math.max(...xs) > 20 * Math.min(...xs) && Math.min(...xs) > 0;
  const pointer = u => { const r = u.over.getBoundingClientRect(); return { left: r.left, top: r.top }; };

  // place makes a plot in its figure, and says how many series it has.
  const place = (id, opts, values, series) => {
    const box = document.querySelector("#fig-" + id + " .plot");
    const old = plots.get(id);
    const scroll = box.scrollTop;
    if (old) old.destroy();
    opts.width = Math.max(240, box.clientWidth);
    opts.legend = { show: false };
    const u = new uPlot(opts, values, box);
    u.over.addEventListener("mouseleave", hideTip);
    plots.set(id, u);
    box.scrollTop = scroll;
    box.closest("figure").dataset.series = series;
  };

  // key names the series below a plot.
  const key = (id, entries) => {
    const box = document.querySelector("#fig-" + id + " .key");
    box.replaceChildren(...entries.map(([color, name, dash]) => {
      const item = document.createElement("span"), mark = document.createElement("i");
      mark.className = "swatch k" + color + (dash === undefined ? "" : " dash d" + dash);
      item.append(mark, name);
      return item;
    }));
  };
  const caseKey = id => key(id, shown.length > 24 && many ? targetEntries() : shown.map(c => [c.color, c.label, c.dash]));
  const targetEntries = () => [...new Set(shown.map(c => c.target))].map(t => [shown.find(c => c.target === t).color, data.targets[t], t % dashes.length]);

  const drawThroughput = () => {
    const box = document.querySelector("#fig-throughput .plot");
    // Where it is narrow, a name is above its bar.
    const narrow = box.clientWidth < 520, n = shown.length, line = narrow ? 46 : n > 40 ? 24 : 32;
    const names = narrow ? 1 : Math.min(Math.max(120, Math.max(...shown.map(c => c.label.length)) * 7.6 + 24), box.clientWidth * 0.42);
    const top = Math.max(...shown.map(c => c.ops.hi), 1);
    const opts = {
      height: n * line + 56, padding: [4, 64, 0, narrow ? 8 : 0],
      cursor: { show: true, x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, ori: 1, dir: -1, range: [-0.5, n - 0.5] }, y: { ori: 0, range: [0, top] } },
      axes: [
        Remora.axis({ side: 3, show: !narrow, size: names, gap: 8, grid: { show: false }, ticks: { show: false }, stroke: css("--ink"), font: font(13),
          splits: () => shown.map((c, i) => i),
          values: u => { u.ctx.save(); u.ctx.font = font(13); const out = shown.map(c => ellipsis(u.ctx, c.label, names - 14)); u.ctx.restore(); return out; } }),
        linearAxis(si, { side: 2, size: 34, label: "operations per second", space: 70 }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [u => drawBars(u, line, narrow)] },
    };
    place("throughput", opts, [shown.map((c, i) => i), shown.map(c => c.ops.median)], n);
    const u = plots.get("throughput");
    u.over.addEventListener("mousemove", e => {
      const c = shown[Math.min(n - 1, Math.max(0, Math.round(u.posToVal(e.clientY - pointer(u).top, "x"))))];
      const lines = [[c.color, si(c.ops.median) + " ops/s"]];
      if (c.ops.n > 1) lines.push([null, "95 %: " + si(c.ops.lo) + " to " + si(c.ops.hi) + ", " + c.ops.n + " trials"]);
      showTip(e, c.label, lines);
    });
  };

  const drawBars = (u, line, narrow) => {
    const ctx = u.ctx, dpr = devicePixelRatio, left = u.bbox.left;
    const thick = (narrow ? 16 : line - 12) * dpr, down = narrow ? 11 * dpr : 0;
    ctx.save();
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    shown.forEach((c, i) => {
      const y = u.valToPos(i, "x", true) + down, x = u.valToPos(c.ops.median, "y", true);
      if (narrow) {
        ctx.fillStyle = css("--ink");
        ctx.font = font(13 * dpr);
        ctx.fillText(ellipsis(ctx, c.label, ctx.canvas.width - left), left, y - 21 * dpr);
      }
      ctx.fillStyle = stroke(c);
      ctx.beginPath();
      ctx.roundRect(left, y - thick / 2, Math.max(x - left, dpr), thick, [0, 4 * dpr, 4 * dpr, 0]);
      ctx.fill();
      let end = x;
      if (c.ops.hi > c.ops.lo) {
        const lo = u.valToPos(c.ops.lo, "y", true), hi = u.valToPos(c.ops.hi, "y", true), cap = thick / 4;
        ctx.strokeStyle = css("--ink");
        ctx.lineWidth = 1.5 * dpr;
        ctx.beginPath();
        for (const [a, b, p, q] of [[lo, y, hi, y], [lo, y - cap, lo, y + cap], [hi, y - cap, hi, y + cap]]) { ctx.moveTo(a, b); ctx.lineTo(p, q); }
        ctx.stroke();
        end = Math.max(x, hi);
      }
      ctx.fillStyle = css("--ink");
      ctx.font = font(12 * dpr);
      ctx.fillText(si(c.ops.median), end + 6 * dpr, y);
    });
    ctx.restore();
  };

  const drawLatency = () => {
    const p = modes.latency, known = shown.filter(c => c.us[p] !== null);
    const xs = known.map(c => c.ops.median), ys = known.map(c => c.us[p]);
    const log = wide(xs), order = known.map((c, i) => i).sort((a, b) => xs[a] - xs[b]);
    const name = { mean: "mean", p50: "median", p95: "95th percentile of", p99: "99th percentile of", p999: "99.9th percentile of" }[p] + " latency";
    const opts = {
      height: 380, padding: [12, 16, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      scales: {
        x: log ? { time: false, distr: 3, range: logRange(xs) } : { time: false, range: [0, Math.max(...known.map(c => c.ops.hi), 1) * 1.1] },
        y: { distr: 3, range: logRange(ys) },
      },
      axes: [
        (log ? logAxis : linearAxis)(si, { label: "operations per second", size: 34, space: 70 }),
        logAxis(micros, { label: name, size: 64 }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [u => drawPoints(u, p, known)] },
    };
    place("latency", opts, [order.map(i => xs[i]), order.map(i => ys[i])], new Set(shown.map(c => c.target)).size);
    key("latency", many ? targetEntries() : shown.length > 24 ? [] : shown.map(c => [c.color, c.label]));
    const u = plots.get("latency");
    u.over.addEventListener("mousemove", e => {
      const at = pointer(u), x = e.clientX - at.left, y = e.clientY - at.top;
      const far = c => Math.hypot(u.valToPos(c.ops.median, "x") - x, u.valToPos(c.us[p], "y") - y);
      const c = known.reduce((a, b) => a && far(a) <= far(b) ? a : b, null);
      if (!c || far(c) > 60) return hideTip();
      const all = c.us.p50 === null ? "mean " + micros(c.us.mean) : "p50 " + micros(c.us.p50) + " · p99 " + micros(c.us.p99) + " · p99.9 " + micros(c.us.p999);
      showTip(e, c.label, [[c.color, si(c.ops.median) + " ops/s"], [null, all]]);
    });
  };

  const drawPoints = (u, p, known) => {
    const ctx = u.ctx, dpr = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    const at = c => [u.valToPos(c.ops.median, "x", true), u.valToPos(c.us[p], "y", true)];
    if (many) data.targets.forEach((name, t) => {
      const line = known.filter(c => c.target === t);
      if (line.length < 2) return;
      ctx.strokeStyle = stroke(line[0]);
      ctx.lineWidth = 2 * dpr;
      ctx.lineJoin = "round";
      ctx.setLineDash(dashes[t % dashes.length].map(d => d * dpr));
      ctx.beginPath();
      line.forEach((c, i) => i ? ctx.lineTo(...at(c)) : ctx.moveTo(...at(c)));
      ctx.stroke();
    });
    ctx.setLineDash([]);
    for (const c of known) {
      const [x, y] = at(c);
      ctx.strokeStyle = ctx.fillStyle = stroke(c);
      if (c.ops.hi > c.ops.lo && c.ops.lo > 0) {
        ctx.lineWidth = 1.5 * dpr;
        ctx.beginPath();
        ctx.moveTo(u.valToPos(c.ops.lo, "x", true), y);
        ctx.lineTo(u.valToPos(c.ops.hi, "x", true), y);
        ctx.stroke();
      }
      ctx.beginPath();
      ctx.arc(x, y, 5 * dpr, 0, 2 * Math.PI);
      ctx.fill();
      ctx.lineWidth = 1.5 * dpr;
      ctx.strokeStyle = css("--card");
      ctx.stroke();
    }
    ctx.restore();
  };

  // line is a series of one case.
  const line = c => ({ label: c.label, stroke: stroke(c), width: 2, dash: dashes[c.dash], points: { show: false }, alpha: shown.length > 24 ? 0.6 : 1 });
  // nearest are the cases whose value at an index lies next to the pointer, the nearest first.
  const nearest = (values, distance) => shown.map((c, i) => [c, values[i], distance(values[i])])
    .filter(([, v]) => v !== null && v !== undefined).sort((a, b) => a[2] - b[2]).slice(0, 8);

  const drawCDF = () => {
    const tail = modes.cdf === "tail";
    const keep = data.shares.map((s, i) => i).filter(i => !tail || data.shares[i] < 1);
    const shares = keep.map(i => data.shares[i]);
    const nines = s => -Math.log10(1 - s);
    const ups = tail ? shares.map(nines) : shares;
    const curves = shown.map(c => keep.map(i => c.cdf[i] > 0 ? c.cdf[i] : null));
    const last = Math.max(...ups, 1);
    const opts = {
      height: 380, padding: [12, 16, 0, 0],
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, ori: 1, dir: 1, range: [0, last] }, y: { ori: 0, distr: 3, range: logRange(curves.flat()) } },
      axes: [
        linearAxis(String, tail
          ? { side: 3, size: 74, label: "share of operations", splits: () => [0, 1, 2, 3, 4, 5, 6].filter(n => n <= last), values: (u, s) => s.map(n => percent(1 - 10 ** -n)) }
          : { side: 3, size: 58, label: "share of operations", values: (u, s) => s.map(percent) }),
        logAxis(micros, { side: 2, size: 34, label: "latency", space: 60 }),
      ],
      series: [{}, ...shown.map(line)],
    };
    place("cdf", opts, [ups, ...curves], shown.length);
    caseKey("cdf");
    const u = plots.get("cdf");
    u.over.addEventListener("mousemove", e => {
      const at = pointer(u), v = u.posToVal(e.clientY - at.top, "x");
      const i = ups.reduce((best, x, k) => Math.abs(x - v) < Math.abs(ups[best] - v) ? k : best, 0);
      const x = e.clientX - at.left;
      showTip(e, percent(shares[i]) + " took no longer than",
        nearest(curves.map(c => c[i]), us => Math.abs(u.valToPos(us, "y") - x)).map(([c, us]) => [c.color, micros(us) + "  " + c.label]));
    });
  };

  const drawTimeline = () => {
    const relative = modes.timeline === "relative";
    const lines = shown.map(c => {
      const known = c.line.filter(v => v !== null), mean = known.reduce((a, b) => a + b, 0) / known.length;
      return relative ? c.line.map(v => v === null ? null : v / mean) : c.line;
    });
    const write = relative ? percent : si;
    const opts = {
      height: 380, padding: [12, 16, 0, 0],
      cursor: { points: { show: false }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, (high || 1) * 1.08] } },
      axes: [
        linearAxis((x, write) => write(x), { label: "seconds", size: 34 }),
        linearAxis(write, { label: relative ? "share of the mean" : "operations per second", size: 58 }),
      ],
      series: [{}, ...shown.map(line)],
    };
    place("timeline", opts, [data.times, ...lines], shown.length);
    caseKey("timeline");
    const u = plots.get("timeline");
    u.over.addEventListener("mousemove", e => {
      const at = pointer(u), i = u.posToIdx(e.clientX - at.left), y = e.clientY - at.top;
      showTip(e, data.times[i].toFixed(2) + " s",
        nearest(lines.map(l => l[i]), v => Math.abs(u.valToPos(v, "y") - y)).map(([c]) => [c.color, si(c.line[i]) + " ops/s  " + c.label]));
    });
  };

  const drawers = { throughput: drawThroughput, latency: drawLatency, cdf: drawCDF, timeline: drawTimeline };
  const draw = id => {
    const box = document.querySelector("#fig-" + id);
    if (!box) return;
    if (shown.length) return drawers[id]();
    const old = plots.get(id);
    if (old) { old.destroy(); plots.delete(id); }
    box.dataset.series = 0;
    box.querySelector(".key").replaceChildren();
  };
  const drawAll = () => { hideTip(); Object.keys(drawers).forEach(draw); };

  // Which cases are shown.
  const status = document.getElementById("shown");
  const filter = () => {
    shown = data.cases.filter(isShown);
    for (const row of document.querySelectorAll("tr[data-case]")) row.hidden = !shown.includes(data.cases[row.dataset.case]);
    if (status) status.textContent = shown.length === data.cases.length ? "" : shown.length + " of " + data.cases.length + " cases shown";
    drawAll();
  };
  for (const chip of document.querySelectorAll(".chip")) chip.addEventListener("click", () => {
    const on = chip.getAttribute("aria-pressed") !== "true", set = off.get(chip.dataset.facet);
    chip.setAttribute("aria-pressed", on);
    if (on) set.delete(Number(chip.dataset.value)); else set.add(Number(chip.dataset.value));
    filter();
  });

  // What a chart shows.
  for (const group of document.querySelectorAll(".modes")) {
    const id = group.closest("figure").id.slice(4), buttons = [...group.querySelectorAll("button")];
    modes[id] = buttons[0].dataset.mode;
    for (const b of buttons) b.addEventListener("click", () => {
      modes[id] = b.dataset.mode;
      buttons.forEach(o => o.setAttribute("aria-pressed", o === b));
      draw(id);
    });
  }

  // The table.
  for (const table of document.querySelectorAll(".sortable")) {
    const heads = [...table.querySelectorAll("thead th")], body = table.tBodies[0];
    heads.forEach((head, i) => head.firstChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "none" ? head.classList.contains("n") : head.getAttribute("aria-sort") === "ascending";
      heads.forEach(h => h.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => Number(row.cells[i].dataset.sort);
      body.append(...[...body.rows].sort((a, b) => down ? value(b) - value(a) : value(a) - value(b)));
    }));
  }

  const theme = document.getElementById("theme"), prefers = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (prefers.matches ? "dark" : "light")) === "dark";
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; drawAll(); });
  prefers.addEventListener("change", drawAll);

  const copy = document.getElementById("copy"), command = document.getElementById("command");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command); // without the right to copy the reader does
    }
  });

  let width = 0;
  new ResizeObserver(() => {
    if (document.body.clientWidth !== width) { width = document.body.clientWidth; drawAll(); }
  }).observe(document.body);
  width = document.body.clientWidth;
  drawAll();
  document.documentElement.dataset.ready = "yes";
})();
