// The service over HTTP. It refuses with a sentence (Refused), or it cannot be reached (Away).

const KEPT = "annotation.key"; // of this tab; a new tab is asked for the key
const LONGEST_MS = 120_000;
let key = sessionStorage.getItem(KEPT) ?? "";

export class Refused extends Error {
  constructor(words, status) {
    super(words);
    this.status = status;
  }
}

export class Away extends Error {}

export const hasKey = () => key !== "";

/** Who the key belongs to: {name, role}. */
export async function login(given) {
  key = given.trim();
  if (!/^[!-~]*$/.test(key)) throw new Refused("a key is of letters, digits and signs alone", 401);
  try {
    const who = await post("/api/login", { key });
    sessionStorage.setItem(KEPT, key);
    return who;
  } catch (error) {
    if (error instanceof Refused) forget();
    throw error;
  }
}

export const again = () => login(key);

export function forget() {
  key = "";
  sessionStorage.removeItem(KEPT);
}

export const get = (path) => ask(path, {});
export const post = (path, body = {}) => ask(path, { method: "POST", body: JSON.stringify(body) });

async function ask(path, options) {
  let answer, said;
  try {
    const headers = { Authorization: `Bearer ${key}`, ...(options.body ? { "Content-Type": "application/json" } : {}) };
    answer = await fetch(path, { ...options, headers, signal: AbortSignal.timeout(LONGEST_MS) });
    said = await answer.json();
  } catch (error) {
    if (answer && !answer.ok && answer.status < 500) throw new Refused(`the service refuses (${answer.status})`, answer.status);
    throw new Away("the service cannot be reached");
  }
  if ([502, 503, 504].includes(answer.status)) throw new Away(words(said) || "the service cannot be reached");
  if (!answer.ok) throw new Refused(words(said) || `the service refuses (${answer.status})`, answer.status);
  return said;
}

const words = (said) => String(said?.error?.message ?? said?.error ?? "");

/** Server-sent events until the connection breaks or `signal` ends it: listeners by an event's name hear its data. */
export function stream(path, listeners, signal) {
  return new Promise((resolve) => {
    const source = new EventSource(path);
    const end = () => {
      source.close();
      resolve();
    };
    for (const [name, listener] of Object.entries(listeners)) {
      source.addEventListener(name, (event) => listener(JSON.parse(event.data)));
    }
    source.addEventListener("error", end); // it is opened anew by whoever asked, who first reads where things stand
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
