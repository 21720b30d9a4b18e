// Lines over time.

/* global uPlot */
import { bytes, clock, el } from "./words.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const POWERS = Array.from({ length: 45 }, (_, at) => 2 ** at);
export const WHOLE = Array.from({ length: 36 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// series: [{ label, color: "--a", bars }], write: how a value is written. Returns { node, set(times_s, columns), marks, close }.
export function plot(label, series, write, height = 200, incrs = write === bytes ? POWERS : undefined) {
  const place = el("div", { class: "plot", role: "img", "aria-label": label });
  let data = [[], ...series.map(() => [])];
  let marks = [];
  let chart = null;

  function draw() {
    chart?.destroy();
    const axis = { stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") } };
    const lines = series.map((one) => ({
      label: one.label,
      stroke: css(one.color),
      width: 1.5,
      points: { show: false },
      value: (_, v) => (v === null || v === undefined ? "–" : write(v)),
      ...(one.bars ? { paths: uPlot.paths.bars({ size: [0.9, 8] }), fill: css(one.color) } : {}),
    }));
    chart = new uPlot(
      {
        width: Math.max(place.clientWidth, 100),
        height,
        series: [{ value: (_, t) => (t === null ? "–" : clock(t * 1000)) }, ...lines],
        axes: [
          { ...axis, values: (_, times) => times.map((t) => clock(t * 1000)), space: 80 },
          { ...axis, values: (_, all) => all.map(write), size: 92, incrs },
        ],
        scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
        cursor: { drag: { x: false, y: false } },
        hooks: { draw: [drawMarks] },
      },
      data,
      place,
    );
  }

  // Upright lines where something changed.
  function drawMarks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.textAlign = "left";
    ctx.strokeStyle = ctx.fillStyle = css("--d");
    ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    for (const [time, text] of marks) {
      const x = u.valToPos(time, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.setLineDash([4, 4]);
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(text, x + 3, bbox.top + 11 * devicePixelRatio);
    }
    ctx.restore();
  }

  // While nobody points at a moment, the newest is written below.
  function showLast() {
    if (chart && chart.cursor.left < 0 && data[0].length > 0) chart.setLegend({ idx: data[0].length - 1 });
  }

  const sized = new ResizeObserver(() => {
    if (!chart && place.clientWidth > 0) draw();
    else if (chart && place.clientWidth > 0) chart.setSize({ width: place.clientWidth, height });
  });
  sized.observe(place);
  const again = () => chart && draw();
  dark.addEventListener("change", again);
  return {
    node: place,
    set(times, columns) {
      data = [times, ...columns];
      chart?.setData(data);
      showLast();
    },
    mark(all) {
      marks = all;
    },
    close() {
      sized.disconnect();
      dark.removeEventListener("change", again);
      chart?.destroy();
    },
  };
}
