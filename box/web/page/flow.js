// One flow over time, four times a second.

import { every, get } from "./ask.js";
import { WHOLE, plot } from "./plot.js";
import { bytes, clock, count, el, millis, rate } from "./words.js";

const INTERVAL_MS = 250;
const SAMPLES_MAX = 1200;
const BITS = 8;

export function open(main, box, name, tell) {
  const samples = [];
  const changes = [];
  const state = el("p", { role: "status" });
  const figures = el("dl");
  const changed = el("ol", { class: "plain" });
  const plots = {
    window: plot("Window and data in flight", [{ label: "window", color: "--a" }, { label: "in flight", color: "--b" }, { label: "edge shown", color: "--c" }], bytes),
    rate: plot("Rates", [{ label: "acknowledged", color: "--a" }, { label: "pace", color: "--b" }, { label: "delivery rate", color: "--c" }], rate),
    rtt: plot("Round-trip times", [{ label: "smoothed", color: "--a" }, { label: "smallest", color: "--c" }], millis),
    loss: plot("Segments lost and repaired", [{ label: "lost", color: "--b", bars: true }, { label: "repaired", color: "--a", bars: true }], (n) => count(Math.round(n)), 140, WHOLE),
  };
  const part = (title, one) => el("section", {}, el("h2", {}, title), one.node);
  main.append(
    el("p", {}, el("a", { href: "#/flows" }, "← all flows")),
    el("h1", {}, name), state,
    el("div", { class: "two" }, part("Window", plots.window), part("Rate", plots.rate), part("RTT", plots.rtt), part("Losses", plots.loss)),
    el("div", { class: "two" },
      el("section", {}, el("h2", {}, "Now"), figures),
      el("section", {}, el("h2", {}, "Phases, algorithms and limits"), changed)),
  );

  function note(time, what) {
    changes.push([time, what]);
    changed.prepend(el("li", {}, el("span", { class: "quiet" }, `${clock(time * 1000)} `), what));
    if (changes.length > 200) {
      changes.shift();
      changed.lastChild.remove();
    }
  }

  // What is not the same as a moment ago, in words.
  function compare(time, before, now) {
    if (!before) return note(time, `${now.mode}, ${now.algorithm}, ${now.phase}`);
    if (before.algorithm !== now.algorithm) note(time, `${before.algorithm} → ${now.algorithm}${now.because ? ` (${now.because})` : ""}`);
    else if (before.phase !== now.phase) note(time, now.phase);
    if (!before.in_senders_hands && now.in_senders_hands) note(time, "handed back to its sender");
    if (before.in_senders_hands && !now.in_senders_hands) note(time, "taken over again");
    if (!before.passed && now.passed) note(time, `passes untouched: ${now.passed}`);
  }

  function draw() {
    const times = samples.map((s) => s.time);
    const each = (pick) => samples.map(({ flow }, at) => pick(flow, samples[at - 1]));
    const grown = (key) => each((f, old) => (old ? Math.max(0, f[key] - old.flow[key]) : null));
    const moved = samples.map(({ flow, time }, at) => {
      const old = samples[at - 4];
      return old && time > old.time ? (Math.max(0, flow.bytes_acked - old.flow.bytes_acked) * BITS) / (time - old.time) : null;
    });
    const marks = changes.filter(([, what]) => what.includes("→") || what.includes("hand") || what.includes("over again"));
    const phases = changes.slice(-12);
    plots.window.mark(phases);
    plots.rate.mark(marks);
    plots.window.set(times, [each((f) => f.cwnd_bytes), each((f) => f.inflight_bytes), each((f) => f.edge_bytes)]);
    plots.rate.set(times, [moved, each((f) => f.pacing_rate_bps), each((f) => f.delivery_rate_bps)]);
    plots.rtt.set(times, [each((f) => f.srtt_us || null), each((f) => f.min_rtt_us || null)]);
    plots.loss.set(times, [grown("lost_segments"), grown("repaired_segments")]);
  }

  function describe(f) {
    const rows = [
      ["rule", f.rule ?? "–"], ["mode", f.mode], ["algorithm", f.algorithm], ["phase", f.phase], ["limited by", f.limited_by],
      ["chosen by", f.chosen_by], ["because of", f.because], ["plugin failed", f.plugin_failed], ["passes untouched", f.passed],
      ["window", bytes(f.cwnd_bytes)], ["in flight", bytes(f.inflight_bytes)], ["waits in the box", bytes(f.queued_bytes)],
      ["held for repair", bytes(f.held_bytes)], ["RTT", `${millis(f.srtt_us)}, smallest ${millis(f.min_rtt_us)}`],
      ["pace", rate(f.pacing_rate_bps)], ["moved", bytes(f.bytes_acked)], ["lost", count(f.lost_segments)],
      ["repaired", count(f.repaired_segments)], ["time-outs", count(f.timeouts)], ["handed back", count(f.handed_back)],
    ];
    const told = rows.filter(([, value]) => value !== null && value !== undefined);
    figures.replaceChildren(...told.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  }

  async function look() {
    try {
      const now = await get("flow", { flow: name });
      if (!now.flow) {
        state.textContent = samples.length ? "This flow is over, or not governed any more." : "There is no governed flow of this name.";
        state.className = "warn";
        return;
      }
      const time = now.time_ms / 1000;
      compare(time, samples.at(-1)?.flow, now.flow);
      samples.push({ time, flow: now.flow });
      if (samples.length > SAMPLES_MAX) samples.shift();
      state.textContent = `${now.flow.algorithm}, ${now.flow.phase}, limited by ${now.flow.limited_by}`;
      state.className = "quiet";
      describe(now.flow);
      draw();
    } catch (error) {
      state.textContent = error.message;
      state.className = "bad";
      if (error.status === 401) tell(error);
    }
  }

  const ended = every(INTERVAL_MS, look);
  return () => {
    ended();
    Object.values(plots).forEach((one) => one.close());
  };
}
