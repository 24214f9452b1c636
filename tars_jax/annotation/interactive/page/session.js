// One session as the service tells it: followed through lost connections, and acted on.

import { ranked } from "./candidates.js";
import { Away, Refused, get, post, stream } from "./service.js";

const WAITS_MS = [250, 500, 1000, 2000, 4000];

/**
 * Follows the session `id`. `on` hears:
 *   changed(state, before)  the state; before: the one it comes after, or null
 *   connection(words)       null when it stands, else what is wrong with it
 *   moved(id)               it could not be resumed; another one of its task has begun
 *   gone(words)             the session is not there any more, or not for this key
 */
export function followSession(id, on) {
  const over = () => state.phase === "ended" || state.phase === "lost";
  const path = `/api/sessions/${encodeURIComponent(id)}`;
  const closing = new AbortController();
  let state = null, fresh = false, pending = null, since = 0, line = new AbortController(), waiting = [];

  function take(next) {
    if (closing.signal.aborted || next?.session !== id) return;
    if (!fresh && state && next.revision < state.revision) return; // an answer that an event overtook
    const before = state;
    fresh = false;
    state = { ...next, candidates: ranked(next.candidates) };
    const { screen } = state.observation;
    if (screen) screen.url += `&since=${since}`;
    on.changed(state, before);
    if (state.phase !== "acting") goOn();
  }

  function goOn() {
    for (const each of waiting.splice(0)) each();
  }

  async function connect() {
    for (let tries = 0; !closing.signal.aborted; tries += 1) {
      try {
        const next = await where();
        fresh = true; // the service may have begun anew, and its revisions with it,
        since = Date.now(); // and the numbers of its pictures: none that is kept here is taken for another
        take(next);
        await sendAgain();
        on.connection(null);
        if (over()) return;
        tries = -1;
        line = new AbortController();
        await stream(`${path}/events`, { state: take }, AbortSignal.any([closing.signal, line.signal]));
        if (over()) return;
      } catch (error) {
        if (closing.signal.aborted) return;
        if (error instanceof Refused && [401, 403, 404, 409].includes(error.status)) return on.gone(error.message);
        if (!(error instanceof Away) && !(error instanceof Refused)) throw error;
      }
      if (closing.signal.aborted) return;
      if (tries >= 0) on.connection("The connection is lost; trying again. Nothing that you decided is lost.");
      await new Promise((resolve) => setTimeout(resolve, WAITS_MS[Math.min(Math.max(tries, 0), WAITS_MS.length - 1)]));
    }
  }

  // A service that began anew has put the session aside: its task is opened again, and goes on at its step.
  async function where() {
    try {
      return await get(path);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 409 || !state) throw error;
      const next = await post("/api/sessions", { task: state.task });
      if (next.session === id) return next;
      closing.abort();
      on.moved(next.session);
      throw error;
    }
  }

  // A decision whose answer never came: sent again only if its step is still open, so that it counts once.
  async function sendAgain() {
    if (!pending) return;
    const { body, settle } = pending;
    if (state.step !== body.step || state.phase !== "deciding") {
      pending = null;
      return settle(null);
    }
    await send(body, settle);
  }

  async function send(body, settle) {
    try {
      const next = await post(`${path}/decide`, body);
      pending = null;
      take(next);
      settle(null);
    } catch (error) {
      if (error instanceof Away) throw error;
      pending = null;
      if (error.status === 409) await get(path).then(take, () => {});
      settle(error);
    }
  }

  /** Resolves to null once it counts, or to the Refused that says why not. It outlives a lost connection. */
  function decide(answer) {
    if (pending) return pending.settled;
    const body = { ...answer, step: state.step };
    let settle;
    const settled = new Promise((resolve) => { settle = resolve; });
    pending = { body, settle, settled };
    send(body, settle).catch(() => {
      on.connection("The connection is lost; your decision is sent once it is back.");
      line.abort(); // whatever the stream thinks: where things stand is asked anew
    });
    return settled;
  }

  /** undo, propose, take_over, ...: resolves to the answer; raises Refused or Away. */
  async function act(name, body = {}) {
    const said = await post(`${path}/${name}`, body);
    take(said);
    return said;
  }

  connect();
  return {
    get state() { return state; },
    get sending() { return pending !== null; },
    decide, act,
    ask: (name, body) => post(`${path}/${name}`, body),
    /** Resolves once no step is under way, or nobody follows any more. */
    settled: () => (state.phase === "acting" ? new Promise((resolve) => { waiting.push(resolve); }) : Promise.resolve()),
    close() {
      closing.abort();
      goOn();
    },
  };
}
