// The frame of the page: tabs, the state of the box, the token.

import { Problem, every, get, post, token } from "./ask.js";
import { el } from "./words.js";
import * as algorithms from "./algorithms.js";
import * as events from "./events.js";
import * as flow from "./flow.js";
import * as flows from "./flows.js";
import * as guard from "./guard.js";
import * as health from "./health.js";
import * as overview from "./overview.js";
import * as rules from "./rules.js";
import * as trials from "./trials.js";

const PAGES = { overview, flows, algorithms, rules, trials, guard, events, health };
const HISTORY_MAX = 600;
const byId = (id) => document.getElementById(id);

// What every page may look at: the last overviews, and who wants to hear of a new one.
const box = { about: null, history: [], listeners: new Set() };
let close = null;

function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  if (name === "flow" && rest.length > 0) return { name, module: flow, rest: decodeURIComponent(rest.join("/")) };
  return { name: PAGES[name] ? name : "overview", module: PAGES[name] || overview, rest: rest.join("/") };
}

function show() {
  if (location.hash === "#main") return;
  const here = route();
  close?.();
  const main = byId("main");
  main.replaceChildren();
  const tabs = Object.keys(PAGES).map((name) => {
    const current = name === here.name || (here.name === "flow" && name === "flows");
    return el("li", {}, el("a", { href: `#/${name}`, "aria-current": current ? "page" : null }, name[0].toUpperCase() + name.slice(1)));
  });
  byId("tabs").replaceChildren(...tabs);
  close = here.module.open(main, box, here.rest, tell);
}

// What is wrong, above everything; nothing: nothing is.
function tell(error) {
  const place = byId("problem");
  place.hidden = !error;
  if (!error) return;
  if (place.textContent !== error.message) place.textContent = error.message;
  if (error instanceof Problem && error.status === 401) askToken("Others than this machine can reach this page, so it shows nothing without the token.");
}

let asking = null;
function askToken(why) {
  if (asking) return asking;
  const dialog = byId("token");
  byId("token-why").textContent = why;
  byId("token-word").value = "";
  dialog.showModal();
  asking = new Promise((done) => {
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "yes") token.set(byId("token-word").value.trim());
      asking = null;
      done(dialog.returnValue === "yes");
    }, { once: true });
  });
  return asking;
}

async function bypass(on) {
  if (!token.get() && !(await askToken("To turn bypass on or off, the page needs the token."))) return;
  try {
    await post("bypass", { on });
    await look();
  } catch (error) {
    if (error.status === 401) token.set(null);
    tell(error.status === 401 ? new Error("That is not the token of this box: nothing was changed.") : error);
  }
}

function state(status) {
  const bad = status.state !== "governing" || status.bypass || status.troubles.length > 0;
  const words = [status.state, status.bypass ? "bypass is on" : null, status.troubles.length ? `${status.troubles.length} trouble(s)` : null];
  byId("state").replaceChildren(
    el("span", { class: `badge ${bad ? "bad" : "good"}` }, words.filter(Boolean).join(", ")),
    el("span", { class: "quiet" }, ` ${status.inside} > ${status.outside}`),
  );
  if (!box.about?.write) return;
  const label = status.bypass ? "End bypass" : "Bypass";
  const button = byId("does").firstElementChild;
  if (button?.textContent !== label) {
    byId("does").replaceChildren(el("button", { id: "bypass", onclick: () => bypass(!status.bypass) }, label));
  }
}

async function look() {
  try {
    box.about ??= await get("about");
    const seen = await get("overview");
    box.history.push(seen);
    if (box.history.length > HISTORY_MAX) box.history.shift();
    state(seen.status);
    tell(null);
    for (const listener of box.listeners) listener(seen);
  } catch (error) {
    byId("state").replaceChildren(el("span", { class: "badge bad" }, "not there"));
    tell(error);
  }
}

addEventListener("hashchange", () => {
  show();
  if (location.hash !== "#main") byId("main").focus();
});
show();
every(1000, look);
