// The box at a glance.

import { every, get } from "./ask.js";
import { plot } from "./plot.js";
import { bytes, count, el, percent, rate, table } from "./words.js";

const BITS = 8;

// What has passed between two overviews, bit/s; null where it cannot be told.
function rates(before, now) {
  const seconds = (now.time_ms - before.time_ms) / 1000;
  const grown = (name) => {
    const [a, b] = [before.traffic[name], now.traffic[name]];
    return a === null || b === null || b < a || seconds <= 0 ? null : ((b - a) * BITS) / seconds;
  };
  const [wire, taken, governed] = ["wire_bytes", "taken_bytes", "governed_bytes"].map(grown);
  return { time: now.time_ms / 1000, wire, taken, governed, rest: wire === null ? null : Math.max(0, wire - taken) };
}

const card = (title) => {
  const value = el("b", {}, "–");
  return { node: el("div", { class: "card" }, el("span", {}, title), value), value };
};

// What the guard finds of all rules: the rule with the most transfers speaks.
function gain(report) {
  const known = report.rules.filter((rule) => rule.transfers.every((n) => n > 0));
  if (known.length === 0) return ["–", "the guard has nothing to compare yet"];
  const rule = known.reduce((a, b) => (a.transfers[0] + a.transfers[1] >= b.transfers[0] + b.transfers[1] ? a : b));
  const { estimate, low, high } = rule.gain;
  const sure = low !== null && high !== null && (low > 0 || high < 0);
  return [percent(estimate), `time saved by "${rule.name}", ${sure ? `${percent(low)} to ${percent(high)}` : "not sure yet"}`];
}

export function open(main, box) {
  const cards = {
    governed: card("governed, payload"), taken: card("through the workers"), rest: card("past them, by the kernel"),
    connections: card("connections"), held: card("held for repair"), gain: card("gain against the hold-out"),
  };
  const lines = plot("Throughput over time", [
    { label: "on the wire", color: "--c" }, { label: "through the workers", color: "--b" }, { label: "governed", color: "--a" },
  ], rate, 220);
  const workers = el("div");
  const reasons = el("div");
  main.append(
    el("h1", {}, "Overview"),
    el("div", { class: "cards" }, Object.values(cards).map((c) => c.node)),
    el("section", {}, el("h2", {}, "Throughput"), lines.node),
    el("div", { class: "two" },
      el("section", {}, el("h2", {}, "Workers"), workers),
      el("section", {}, el("h2", {}, "Why packets pass untouched"), reasons)),
  );

  function look(now) {
    const before = box.history.at(-2);
    cards.connections.value.textContent = count(now.status.connections);
    cards.held.value.textContent = bytes(now.status.held_bytes);
    const points = box.history.slice(1).map((one, at) => rates(box.history[at], one));
    const last = points.at(-1);
    for (const name of ["governed", "taken", "rest"]) cards[name].value.textContent = last ? rate(last[name]) : "–";
    lines.set(points.map((p) => p.time), ["wire", "taken", "governed"].map((name) => points.map((p) => p[name])));
    workers.replaceChildren(workerTable(now, before));
    reasons.replaceChildren(reasonTable(now, before));
  }

  box.listeners.add(look);
  if (box.history.length > 0) look(box.history.at(-1));
  const ended = every(5000, async () => {
    try {
      const [value, title] = gain(await get("guard"));
      cards.gain.value.textContent = value;
      cards.gain.node.title = title;
      cards.gain.node.firstChild.textContent = title;
    } catch (error) {
      if (error.status === 409) cards.gain.node.firstChild.textContent = "gain: no [guard] in the configuration";
    }
  });
  return () => {
    ended();
    lines.close();
    box.listeners.delete(look);
  };
}

function workerTable(now, before) {
  if (!now.workers_answer) return el("p", { class: "bad" }, now.status.state === "governing" ? "A worker does not answer." : "Nothing is governed now: see Health.");
  const seconds = before ? (now.time_ms - before.time_ms) / 1000 : 0;
  const rows = now.workers.map((worker) => {
    const old = before?.workers.find((w) => w.worker === worker.worker && w.packets <= worker.packets);
    const per = (n) => (old && seconds > 0 ? n / seconds : null);
    const packets = per(worker.packets - (old?.packets ?? 0));
    const busy = per((worker.batches_us - (old?.batches_us ?? 0)) / 1e6);
    return [
      worker.worker, count(worker.connections), packets === null ? "–" : count(Math.round(packets)), percent(busy),
      bytes(worker.held_bytes), count(worker.frames_free),
    ];
  });
  const columns = [["queue", true], ["connections", true], ["packets/s", true], ["busy", true], ["held", true], ["free frames", true]];
  return table(columns, rows, "There are no workers.");
}

function reasonTable(now, before) {
  const seconds = before ? (now.time_ms - before.time_ms) / 1000 : 0;
  const all = Object.entries(now.passed).map(([reason, sum]) => {
    const new_ = before && seconds > 0 ? Math.max(0, sum - (before.passed[reason] ?? 0)) / seconds : 0;
    return { reason, sum, new_ };
  });
  all.sort((a, b) => b.new_ - a.new_ || b.sum - a.sum);
  const name = (reason) => (reason.startsWith("xdp_") ? `${reason.slice(4)} (kernel)` : reason).replaceAll("_", " ");
  const rows = all.slice(0, 12).map((one) => [name(one.reason), count(Math.round(one.new_)), count(one.sum)]);
  return table([["reason", false], ["packets/s", true], ["packets", true]], rows, "No packet has passed untouched.");
}
