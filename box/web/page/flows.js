// All flows. Only the rows that are seen are asked for, and only they are in the page.

import { every, get } from "./ask.js";
import { bytes, count, el, millis, rate } from "./words.js";

const ROW = 28;
const SPARE = 15;
const LIMITS = ["", "sender", "cwnd", "pacing", "tenant", "receiver", "guess"];

// Title, order, class, text.
const COLUMNS = [
  ["flow", "flow", "", (r) => r.flow],
  ["rate", "rate", "right", (r) => rate(r.rate_bps)],
  ["algorithm", "algorithm", "middle", (r) => r.algorithm],
  ["RTT", "rtt", "right middle", (r) => millis(r.srtt_us)],
  ["window", "window", "right middle", (r) => bytes(r.cwnd_bytes)],
  ["in flight", "flight", "right middle", (r) => bytes(r.inflight_bytes)],
  ["limited by", null, "middle", (r) => r.passed ?? (r.in_senders_hands ? "handed back" : r.mode === "enforce" ? r.limited_by : r.mode)],
  ["lost", "lost", "right wide", (r) => count(r.lost_segments)],
  ["moved", "bytes", "right wide", (r) => bytes(r.bytes_acked)],
  ["rule", "rule", "wide", (r) => r.rule ?? ""],
];

export function open(main, box, rest, tell) {
  const query = Object.fromEntries(new URLSearchParams(rest));
  const wanted = { order: query.order || "rate", reversed: query.reversed === "true", rule: query.rule || "", client: query.client || "", limited_by: query.limited_by || "", slow_bps: query.slow_bps || "" };
  let [matching, first, rows, at, asked] = [0, 0, [], 0, 0];

  const input = (name, label, attributes) => el("label", {}, label, el("input", { name, value: wanted[name], ...attributes }));
  const options = LIMITS.map((name) => el("option", { value: name, selected: name === wanted.limited_by }, name || "anything"));
  const slow = el("input", { name: "slow", size: 6, inputmode: "decimal", value: wanted.slow_bps ? wanted.slow_bps / 1e6 : "", placeholder: "any" });
  const form = el("form", { class: "line", onsubmit: filter },
    input("client", "client (prefix)", { placeholder: "192.0.2.0/24", size: 16 }),
    input("rule", "rule", { placeholder: "any", size: 10 }),
    el("label", {}, "limited by", el("select", { name: "limited_by" }, options)),
    el("label", {}, "slower than (Mbit/s)", slow),
    el("button", { class: "main" }, "Filter"));
  const said = el("p", { class: "quiet", role: "status" });
  const head = el("div", { class: "head", role: "row" });
  const room = el("div", { class: "room", role: "rowgroup" });
  const list = el("div", { class: "list", role: "table", "aria-label": "Flows: arrow keys move, Enter opens", tabindex: "0", onscroll: scrolled, onkeydown: key }, head, room);
  main.append(el("h1", {}, "Flows"), form, said, list);

  function drawHead() {
    head.replaceChildren(...COLUMNS.map(([title, order, kind]) => {
      const here = order === wanted.order;
      const mark = here ? (wanted.reversed ? " ▴" : " ▾") : "";
      const sorted = here ? (wanted.reversed ? "ascending" : "descending") : null;
      const content = order ? el("button", { type: "button", "data-order": order, onclick: () => sort(order) }, title + mark) : el("span", { class: "quiet" }, title);
      return el("span", { role: "columnheader", class: kind, "aria-sort": sorted }, content);
    }));
  }

  function sort(order) {
    wanted.reversed = order === wanted.order ? !wanted.reversed : false;
    wanted.order = order;
    at = 0;
    list.scrollTop = 0;
    drawHead();
    head.querySelector(`[data-order=${order}]`)?.focus();
    look();
  }

  function filter(event) {
    event.preventDefault();
    const data = new FormData(form);
    for (const name of ["client", "rule", "limited_by"]) wanted[name] = data.get(name).trim();
    const mbit = Number.parseFloat(data.get("slow"));
    wanted.slow_bps = mbit > 0 ? Math.round(mbit * 1e6) : "";
    at = 0;
    list.scrollTop = 0;
    look();
  }

  const seen = () => Math.ceil(list.clientHeight / ROW);
  const top = () => Math.floor(list.scrollTop / ROW);

  async function look() {
    asked += 1;
    const number = asked;
    const offset = Math.max(0, top() - SPARE);
    try {
      const view = await get("flows", { ...wanted, offset, rows: seen() + 2 * SPARE });
      if (number !== asked) return;
      [matching, first, rows] = [view.matching, view.offset, view.rows];
      const more = view.omitted ? `; ${count(view.omitted)} more flows were not looked at` : "";
      said.textContent = `${count(view.matching)} of ${count(view.flows)} flows, ${rate(view.rate_bps)}${more}`;
      said.className = "quiet";
      draw();
    } catch (error) {
      if (number !== asked) return;
      said.textContent = error.message;
      said.className = "bad";
      if (error.status === 401) tell(error);
    }
  }

  function draw() {
    at = Math.min(at, Math.max(0, matching - 1));
    room.style.height = `${matching * ROW}px`;
    list.setAttribute("aria-rowcount", matching);
    const nodes = rows.map((row, number) => {
      const place = first + number;
      const cells = COLUMNS.map(([, , kind, text]) => el("span", { role: "cell", class: kind }, text(row)));
      const node = el("div", { role: "row", id: `row-${place}`, class: `row${place === at ? " at" : ""}${row.passed ? " passed" : ""}`, "aria-rowindex": place + 1, title: row.flow, onclick: () => enter(row) }, cells);
      node.style.top = `${place * ROW}px`;
      return node;
    });
    room.replaceChildren(...nodes);
    list.setAttribute("aria-activedescendant", `row-${at}`);
  }

  let waiting = null;
  function scrolled() {
    if (top() >= first && top() + seen() <= first + rows.length) return;
    clearTimeout(waiting);
    waiting = setTimeout(look, 60);
  }

  const enter = (row) => {
    location.hash = `#/flow/${encodeURIComponent(row.flow)}`;
  };

  function key(event) {
    if (event.target !== list) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: seen() - 2, PageUp: 2 - seen(), Home: -matching, End: matching };
    if (event.key === "Enter" && rows[at - first]) return enter(rows[at - first]);
    if (!(event.key in steps)) return;
    event.preventDefault();
    at = Math.max(0, Math.min(matching - 1, at + steps[event.key]));
    const headHeight = head.offsetHeight;
    if (at * ROW < list.scrollTop) list.scrollTop = at * ROW;
    if ((at + 1) * ROW > list.scrollTop + list.clientHeight - headHeight) list.scrollTop = (at + 1) * ROW - list.clientHeight + headHeight;
    draw();
  }

  drawHead();
  const ended = every(1000, look);
  return () => {
    ended();
    clearTimeout(waiting);
  };
}
