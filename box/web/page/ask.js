// Questions to the box, and the token.

const PATIENCE_MS = 9000;
const KEPT = "windlass-token";

export class Problem extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEPT),
  set: (word) => (word ? sessionStorage.setItem(KEPT, word) : sessionStorage.removeItem(KEPT)),
};

async function send(method, path, body) {
  const headers = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method, headers, body: body && JSON.stringify(body), credentials: "omit", signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    throw new Problem(0, "The page gets no answer: is windlass running, and is this address still right?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, answer.error || `answer ${response.status}`);
  return answer;
}

export function get(what, parameters = {}) {
  const set = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(set).toString();
  return send("GET", `/api/v1/${what}${query ? `?${query}` : ""}`);
}

export const post = (what, body) => send("POST", `/api/v1/${what}`, body);

// Does it again and again while the page is seen: the next time begins when the last has ended. Returns what ends it.
export function every(ms, work) {
  let timer = null;
  let over = false;
  async function turn() {
    if (!document.hidden) await work();
    if (!over) timer = setTimeout(turn, ms);
  }
  turn();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}
