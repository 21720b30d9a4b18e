// What is tried: a trial that was asked for, and what rules leave to experience.

import { every, get } from "./ask.js";
import { age, count, el, percent, rate, table } from "./words.js";

const SIZES = { small: "up to 100 kB", medium: "up to 2 MB", large: "larger" };
const seconds = (s) => `${s.toFixed(3)} s`;
const time = (quantile) => (quantile ? el("span", {}, seconds(quantile.s), el("div", { class: "quiet" }, `${quantile.low_s.toFixed(3)} to ${quantile.high_s.toFixed(3)}`)) : "–");

function trialPart(trial) {
  if (!trial) return [el("p", { class: "quiet" }, "No trial runs. This begins one: ", el("code", {}, "windlass trial start --policy RULE --arms bbr,cubic --share 10%"))];
  const whose = trial.rule === null ? "all rules" : `rule ${trial.rule}`;
  const flows = trial.arms.map((arm, at) => `${arm}: ${count(trial.report.flows[at])}`).join(", ");
  const at = (arm, q) => time(arm.quantiles.find((one) => one.q === q));
  const rows = trial.report.arms.map((arm) => [trial.arms[arm.arm], SIZES[arm.sizes] ?? arm.sizes, count(arm.transfers), at(arm, 0.5), at(arm, 0.95), at(arm, 0.99)]);
  const columns = [["algorithm", false], ["transfers of", false], ["transfers", true], ["median", true], ["95 % within", true], ["99 % within", true]];
  return [
    el("p", {}, `${percent(trial.share)} of the new flows of ${whose} draw lots. Flows so far: ${flows}.`),
    el("ul", {}, trial.verdict.map((line) => el("li", {}, line))),
    table(columns, rows, "No transfer has ended yet."),
  ];
}

function rulesPart(auto) {
  const rows = auto.rules.flatMap((rule) => rule.arms.map((arm, at) => [
    rule.rule, auto.arms[at], count(arm.flows), count(arm.explored), count(arm.transfers), rate(arm.goodput_bps),
  ]));
  const columns = [["rule", false], ["algorithm", false], ["flows", true], ["explored", true], ["transfers", true], ["goodput", true]];
  return table(columns, rows, "");
}

function prefixesPart(report) {
  const { auto } = report;
  const belief = (arm) => el("span", {}, `${arm.worth.toFixed(2)} ± ${percent(arm.error)}`, el("div", { class: "quiet" }, `${arm.transfers.toFixed(1)} transfers`));
  const rows = auto.prefixes.map((one) => [
    one.prefix ?? "anywhere else", one.best, percent(one.sure), one.prefix === null ? "–" : age(one.age_s), ...one.arms.map(belief),
  ]);
  const columns = [["prefix", false], ["best", false], ["sure", true], ["learned last", true], ...auto.arms.map((arm) => [arm, true])];
  return [
    table(columns, rows, ""),
    report.prefixes_omitted ? el("p", { class: "quiet" }, `and ${count(report.prefixes_omitted)} more prefixes (windlass auto show -j has all)`) : null,
  ];
}

function autoPart(report) {
  const { auto } = report;
  if (auto.rules.length === 0) return [el("p", { class: "quiet" }, "No rule has ", el("code", {}, 'algorithm = "auto"'), ", so nothing is left to experience.")];
  return [
    el("p", { class: "quiet" }, `One of ${auto.arms.join(", ")}. ${percent(auto.explore)} of the new flows explore: they get another algorithm than the one believed to be best, if it could be better.`),
    el("h3", {}, "Tried since the start, by rule"), rulesPart(auto),
    el("h3", {}, "Believed, by prefix"),
    el("p", { class: "quiet" }, "What an algorithm is worth beside the others at the same prefix: 1.10 is a tenth more goodput. Older transfers count less."),
    ...prefixesPart(report),
  ].filter(Boolean);
}

export function open(main, box, rest, tell) {
  const [trial, auto] = [el("div"), el("div")];
  main.append(
    el("h1", {}, "Trials"),
    el("section", {}, el("h2", {}, "The trial that runs"), trial),
    el("section", {}, el("h2", {}, "Left to experience"), auto),
  );
  return every(5000, async () => {
    try {
      const report = await get("trials");
      trial.replaceChildren(...trialPart(report.trial));
      auto.replaceChildren(...autoPart(report));
    } catch (error) {
      trial.replaceChildren(el("p", { class: "bad" }, error.message));
      if (error.status === 401) tell(error);
    }
  });
}
