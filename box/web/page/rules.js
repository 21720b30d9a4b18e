// The rules in charge, and what they say of a flow.

import { every, get } from "./ask.js";
import { count, el, rate, table } from "./words.js";

export function open(main, box, rest, tell) {
  const place = el("div");
  const answer = el("div", { role: "status" });
  const form = el("form", { class: "line", onsubmit: explain },
    el("label", {}, "flow, from its sender", el("input", { name: "flow", required: true, size: 34, placeholder: "10.0.0.1:443>192.0.2.7:5555" })),
    el("label", {}, "the sender is", el("select", { name: "sender" }, el("option", {}, "inside"), el("option", {}, "outside"))),
    el("button", { class: "main" }, "Explain"));
  main.append(
    el("h1", {}, "Rules"),
    el("section", {}, el("h2", {}, "In charge: the first that matches decides"), place),
    el("section", {}, el("h2", {}, "What do they say of a flow?"), form, answer),
  );

  async function explain(event) {
    event.preventDefault();
    const data = new FormData(form);
    try {
      const said = await get("explain", { flow: data.get("flow").trim(), sender: data.get("sender") });
      const rules = said.rules.map((r) => [r.rule, r.why_not ? el("span", { class: "quiet" }, `no: ${r.why_not}`) : el("span", { class: "good" }, "yes")]);
      const does = said.mode
        ? `It is governed: mode ${said.mode}, ${said.algorithm}${said.cap_bps ? `, at most ${rate(said.cap_bps)}` : ""}.`
        : "It is left alone.";
      const switches = said.switches.map((s) => el("li", {}, el("code", {}, s)));
      answer.replaceChildren(
        table([["rule", false], ["matches", false]], rules, "There are no rules."),
        el("p", {}, does),
        ...(switches.length ? [el("p", {}, "On its path, these bring another algorithm:"), el("ul", {}, switches)] : []),
      );
    } catch (error) {
      answer.replaceChildren(el("p", { class: "bad" }, error.message));
    }
  }

  return every(2000, async () => {
    try {
      const { rules } = await get("rules");
      const rows = rules.map((r) => [
        el("a", { href: `#/flows/${new URLSearchParams({ rule: r.name })}` }, r.name),
        r.conditions.length ? r.conditions.map((c) => el("div", {}, el("code", {}, c))) : el("span", { class: "quiet" }, "every flow"),
        r.mode, r.algorithm ?? "–", r.cap_bps ? rate(r.cap_bps) : "–", count(r.flows), rate(r.rate_bps),
      ]);
      const columns = [["rule", false], ["takes", false], ["mode", false], ["algorithm", false], ["cap", true], ["flows", true], ["rate", true]];
      place.replaceChildren(table(columns, rows, "There are no rules."));
    } catch (error) {
      place.replaceChildren(el("p", { class: "bad" }, error.message));
      if (error.status === 401) tell(error);
    }
  });
}
