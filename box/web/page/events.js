// What happens.

import { every, get } from "./ask.js";
import { clock, count, el, severity } from "./words.js";

const SHOWN_MAX = 500;
const ORDER = ["error", "warning", "notice", "info"];

export const line = (event) => {
  const numbers = Object.entries(event.numbers ?? {}).map(([name, n]) => `${name.replaceAll("_", " ")}: ${count(n)}`);
  const rule = event.rule ? [`rule: ${event.rule}`] : [];
  const left = event.suppressed ? [`left out before: ${count(event.suppressed)}`] : [];
  return el("li", { class: "event" },
    el("time", { datetime: new Date(event.time_ms).toISOString() }, clock(event.time_ms)),
    el("span", { class: severity[event.severity] }, event.severity),
    el("span", {}, event.kind.replaceAll("_", " ")),
    el("div", {},
      event.flow ? el("a", { href: `#/flow/${encodeURIComponent(event.flow)}` }, event.flow) : null,
      event.flow ? " " : null, event.text,
      rule.length + numbers.length + left.length ? el("div", { class: "quiet" }, [...rule, ...numbers, ...left].join(", ")) : null));
};

export function open(main, box, rest, tell) {
  let [after, began] = [0, 0];
  let all = [];
  const list = el("ol", { class: "plain" });
  const said = el("p", { class: "quiet", role: "status" });
  const least = el("select", { onchange: draw }, ORDER.map((name) => el("option", { value: name, selected: name === "info" }, name)));
  const text = el("input", { placeholder: "kind, flow, rule, reason", oninput: draw });
  main.append(
    el("h1", {}, "Events"),
    el("form", { class: "line", onsubmit: (e) => e.preventDefault() }, el("label", {}, "at least", least), el("label", {}, "with these words", text)),
    said, el("section", {}, list),
  );

  function draw() {
    const words = text.value.toLowerCase();
    const bad = (event) => ORDER.indexOf(event.severity) <= ORDER.indexOf(least.value);
    const has = (event) => !words || JSON.stringify([event.kind, event.kind.replaceAll("_", " "), event.flow, event.rule, event.reason, event.text]).toLowerCase().includes(words);
    const found = all.filter((event) => bad(event) && has(event));
    list.replaceChildren(...found.slice(-SHOWN_MAX).reverse().map(line));
    said.textContent = `${count(found.length)} of ${count(all.length)} events`;
  }

  return every(1000, async () => {
    try {
      let news = false;
      for (let more = true; more;) {
        const report = await get("events", { after });
        if (began && began !== report.began_ms) [after, all, news] = [0, [], true];
        else {
          all.push(...report.events);
          after = report.events.at(-1)?.number ?? after;
          news ||= report.events.length > 0;
        }
        more = report.more || (began !== 0 && began !== report.began_ms);
        began = report.began_ms;
      }
      all = all.slice(-4096);
      if (news || said.className === "bad") draw();
      if (all.length === 0) said.textContent = "Nothing has happened yet.";
      said.className = "quiet";
    } catch (error) {
      said.textContent = error.message;
      said.className = "bad";
      if (error.status === 401) tell(error);
    }
  });
}
