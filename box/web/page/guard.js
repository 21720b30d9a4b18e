// What governing gains, and where the guard has withdrawn.

import { every, get } from "./ask.js";
import { count, el, percent, table } from "./words.js";

const COLUMNS = [["where", false], ["state", false], ["time saved", true], ["at least", true], ["at most", true], ["transfers governed", true], ["held out", true]];
const KINDS = { withdrawn: "bad", doubted: "warn", proven: "good", open: "quiet" };

const row = (name, one) => [
  name, el("span", { class: KINDS[one.state] ?? "" }, one.state), percent(one.gain.estimate), percent(one.gain.low), percent(one.gain.high),
  count(Math.round(one.transfers[0])), count(Math.round(one.transfers[1])),
];

export function open(main, box, rest, tell) {
  const place = el("div");
  main.append(el("h1", {}, "Guard"), place);
  return every(5000, async () => {
    try {
      const report = await get("guard");
      const parts = report.rules.map((rule) => el("section", {},
        el("h2", {}, `${rule.name}: ${rule.what}`),
        table(COLUMNS, [row("everywhere", rule), ...rule.places.slice(0, 200).map((place) => row(place.prefix, place))], ""),
        rule.omitted ? el("p", { class: "quiet" }, `and ${count(rule.omitted)} more prefixes`) : null));
      const how = `Some flows are left alone, and the others compared with them. The bounds hold at all times with ${percent(1 - report.error)} confidence.`;
      place.replaceChildren(el("p", { class: "quiet" }, how), ...parts);
    } catch (error) {
      place.replaceChildren(el("section", {}, el("p", { class: error.status === 409 ? "quiet" : "bad" }, error.message)));
      if (error.status === 401) tell(error);
    }
  });
}
