// How things are written. Text goes into the page as text only, never as HTML.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined).map((c) => (c instanceof Node ? c : String(c))));
  return node;
}

function scaled(value, step, units) {
  let at = 0;
  while (value >= step && at + 1 < units.length) {
    value /= step;
    at += 1;
  }
  return `${at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

export const rate = (bps) => (bps === null || bps === undefined ? "–" : scaled(bps, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]));
export const bytes = (count) => (count === null || count === undefined ? "–" : scaled(count, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]));
export const millis = (us) => (us ? `${(us / 1000).toFixed(us < 100000 ? 1 : 0)} ms` : "–");
export const count = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en"));
export const percent = (share) => (share === null || share === undefined ? "–" : `${(share * 100).toFixed(1)} %`);
export const clock = (ms) => new Date(ms).toLocaleTimeString("en", { hour12: false });

export function age(seconds) {
  const [d, h, m] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (d) return `${d} d ${h} h`;
  if (h) return `${h} h ${m} min`;
  return m ? `${m} min` : `${seconds} s`;
}

// A table: columns are [title, is a number]; cells are text or nodes.
export function table(columns, rows, none) {
  if (rows.length === 0) return el("p", { class: "quiet" }, none);
  const kind = (at) => (columns[at][1] ? "number" : at === 0 ? "name" : null);
  const head = el("tr", {}, columns.map(([title], at) => el("th", { scope: "col", class: columns[at][1] ? "number" : null }, title)));
  const body = rows.map((row) => el("tr", {}, row.map((cell, at) => el("td", { class: kind(at) }, cell))));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}

export const severity = { error: "bad", warning: "warn", notice: "", info: "quiet" };
