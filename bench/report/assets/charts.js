"use strict";
// What the charts share: numbers for people, colours of the page, axes, and the tip
// that follows the pointer. Text from outside is only ever set as text.
const Remora = (() => {
  const three = x => x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
  const short = x => String(Number(x.toPrecision(3)));
  const si = (x, write = three) => {
    for (const [at, unit] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) if (x >= at) return write(x / at) + unit;
    return write(x);
  };
  const micros = (us, write = three) =>
    us >= 1e6 ? write(us / 1e6) + " s" : us >= 1e3 ? write(us / 1e3) + " ms" : us >= 1 ? write(us) + " µs" : write(us * 1e3) + " ns";
  const percent = share => String(Number((100 * share).toFixed(6))) + " %";

  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dashes = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [12, 4], [8, 2, 2, 2, 2, 2]];
  const font = size => size + "px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

  // axis is what all axes have; more says what is special about one.
  const axis = more => Object.assign({
    stroke: css("--soft"), font: font(12), labelFont: font(12), labelGap: 2, labelSize: 18,
    grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1, size: 5 },
  }, more);

  // logTicks are round numbers, fewer where there are many decades.
  const logTicks = (low, high) => {
    const out = [], decades = Math.log10(high / low);
    const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
    for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d++)
      for (const s of steps) {
        const x = Number((s * 10 ** d).toPrecision(3));
        if (x >= low && x <= high) out.push(x);
      }
    return out;
  };
  const logAxis = (write, more) => axis(Object.assign({
    splits: (u, i, low, high) => logTicks(low, high), filter: (u, s) => s, values: (u, s, i) => thin(u, s, i, s.map(x => write(x, short))),
  }, more));
  // thin leaves out each label of a horizontal axis that would run into the one before it.
  const thin = (u, splits, i, labels) => {
    const a = u.axes[i], ctx = u.ctx;
    if (a.side % 2) return labels;
    ctx.save();
    ctx.font = font(12);
    let end = -Infinity;
    const out = labels.map((text, k) => {
      const middle = u.valToPos(splits[k], a.scale), half = ctx.measureText(text).width / 2 + 4;
      if (middle - half < end) return "";
      end = middle + half;
      return text;
    });
    ctx.restore();
    return out;
  };
  const linearAxis = (write, more) => axis(Object.assign({ values: (u, s) => s.map(x => write(x, short)) }, more));

  // logRange leaves room around numbers, and half a decade at least.
  const logRange = xs => {
    const good = xs.filter(x => x > 0);
    if (!good.length) return [1, 10];
    let low = Math.min(...good), high = Math.max(...good);
    const room = Math.max((high / low) ** 0.06, 1.25);
    low /= room; high *= room;
    return [low, high];
  };

  const tipBox = document.getElementById("tip");
  const hideTip = () => { tipBox.hidden = true; };
  // showTip shows a heading and lines of [colour index or null, text] at the pointer.
  const showTip = (event, heading, lines) => {
    const head = document.createElement("b");
    head.textContent = heading;
    tipBox.replaceChildren(head, ...lines.map(([color, text]) => {
      const line = document.createElement("div");
      if (color !== null) {
        const mark = document.createElement("i");
        mark.className = "swatch k" + color;
        line.append(mark);
      }
      line.append(text);
      return line;
    }));
    tipBox.hidden = false;
    const w = tipBox.offsetWidth, h = tipBox.offsetHeight;
    const x = event.clientX + 14 + w > innerWidth ? event.clientX - 14 - w : event.clientX + 14;
    const y = event.clientY + 14 + h > innerHeight ? event.clientY - 14 - h : event.clientY + 14;
    tipBox.style.left = Math.max(4, x) + "px";
    tipBox.style.top = Math.max(4, y) + "px";
  };

  // ellipsis cuts text to a width, in its middle: both ends tell it from others.
  const ellipsis = (ctx, text, width) => {
    if (ctx.measureText(text).width <= width) return text;
    const cut = n => text.slice(0, Math.ceil(n / 2)).trimEnd() + "…" + text.slice(text.length - Math.floor(n / 2)).trimStart();
    let n = text.length;
    while (n > 2 && ctx.measureText(cut(n)).width > width) n--;
    return cut(n);
  };

  return { si, micros, percent, three, css, dashes, font, axis, logAxis, linearAxis, logRange, showTip, hideTip, ellipsis };
})();
