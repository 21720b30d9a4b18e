// The algorithms beside each other.

import { every, get } from "./ask.js";
import { count, el, millis, rate, table } from "./words.js";

const COLUMNS = [
  ["algorithm", false], ["flows", true], ["moving", true], ["together", true], ["middle flow", true], ["middle RTT", true], ["queue", true],
  ["lost", true], ["sent again", true], ["handed back", true],
];

export function open(main, box, rest, tell) {
  const place = el("div");
  main.append(
    el("h1", {}, "Algorithms"),
    el("section", {}, place,
      el("p", { class: "quiet" }, "What the flows of this moment do. Flows differ in their paths: to compare algorithms on the same paths, begin a trial (windlass trial start), or let the guard compare. ",
        el("a", { href: "#/trials" }, "What is tried now"))),
  );
  return every(2000, async () => {
    try {
      const { algorithms } = await get("algorithms");
      const rows = algorithms.map((a) => [
        a.algorithm, count(a.flows), count(a.moving), rate(a.rate_bps), rate(a.median_rate_bps), millis(a.median_rtt_us),
        millis(a.median_queue_us), count(a.lost_segments), `${(a.repaired_ppm / 1e4).toFixed(2)} %`, count(a.handed_back),
      ]);
      place.replaceChildren(table(COLUMNS, rows, "No flow is governed at this moment."));
    } catch (error) {
      place.replaceChildren(el("p", { class: "bad" }, error.message));
      if (error.status === 401) tell(error);
    }
  });
}
