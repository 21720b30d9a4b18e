// How the box is, and what to do.

import { every, get } from "./ask.js";
import { line } from "./events.js";
import { age, bytes, count, el } from "./words.js";

export function open(main, box) {
  const does = el("div");
  const facts = el("dl");
  const list = el("ol", { class: "plain" });
  main.append(
    el("h1", {}, "Health"),
    el("section", {}, el("h2", {}, "What to do"), does),
    el("div", { class: "two" },
      el("section", {}, el("h2", {}, "The box"), facts),
      el("section", {}, el("h2", {}, "Latest warnings and errors"), list)),
  );

  function look(now) {
    const { status } = now;
    const todo = status.troubles.map(({ what, mend }) => [what, mend]);
    if (status.bypass) todo.push(["Bypass is on: nothing is governed.", "windlass bypass off"]);
    if (status.state === "governing" && !now.workers_answer) todo.push(["A worker does not answer; the kernel forwards its packets.", "if it stays so, start windlass again"]);
    const starved = now.workers.reduce((sum, worker) => sum + worker.rx_starved, 0);
    if (starved) todo.push([`Reception has stood still ${count(starved)} times for want of packet frames.`, "more frames in [box], or a smaller held_bytes_total in [limits]"]);
    does.replaceChildren(...(todo.length
      ? todo.map(([what, mend]) => el("p", {}, el("span", { class: "bad" }, what), el("br"), "Mend it with: ", el("code", {}, mend)))
      : [el("p", { class: "good" }, "Nothing: all is as it should be.")]));
    const rows = [
      ["state", status.state], ["version", status.version], ["process", status.pid], ["up", age(status.uptime_s)],
      ["interfaces", `${status.inside} > ${status.outside}`], ["bridge", status.bridge ?? "none"],
      ["packets by", `${status.io}${status.zero_copy ? ", zero copy" : ""}`],
      ["if it dies", status.fail_open ? "the kernel forwards everything" : "the wire is cut"],
      ["workers", status.workers], ["connections", count(status.connections)], ["held", bytes(status.held_bytes)],
      ["taken back", `${status.reopened} time(s)`],
    ];
    facts.replaceChildren(...rows.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  }

  box.listeners.add(look);
  if (box.history.length > 0) look(box.history.at(-1));
  let [after, began, found] = [0, 0, []];
  const ended = every(3000, async () => {
    try {
      for (let more = true; more;) {
        const report = await get("events", { after });
        const anew = began !== 0 && began !== report.began_ms;
        if (anew) [after, found] = [0, []];
        else found.push(...report.events.filter((e) => e.severity === "error" || e.severity === "warning"));
        after = anew ? 0 : (report.events.at(-1)?.number ?? after);
        more = anew || report.more;
        began = report.began_ms;
      }
      found = found.slice(-20);
      const last = found.toReversed().map(line);
      list.replaceChildren(...(last.length ? last : [el("li", { class: "quiet" }, "There are none.")]));
    } catch {
      // The frame of the page says so.
    }
  });
  return () => {
    ended();
    box.listeners.delete(look);
  };
}
