// The virtual clock of a page: one timeline that stands still until `__clock.advance(ms)` moves it.
//
// The files of this folder run in this order in every document and worker before any code of the page (__init__.py).
// Documents of one origin share the timeline of the top window; workers and other origins have their own and follow it
// (children.js). What happens in virtual time comes from sources, each `{due(), run()}`: the earliest runs next, on
// equal times the one that registered first. What a callback does is complete, with its promises and the messages that
// it posts to its own document, before the next one runs.
(() => {
  'use strict';
  const EPOCH_MS = Date.UTC(2025, 0, 1, 12);
  const MOST_ROUNDS = 20; // of settling after one callback, for pages that never rest
  const PLAY_TICK_MS = 1000 / 60, LONGEST_TICK_MS = 250; // real; a page that is slower than its rate falls behind

  const native = {
    Date,
    now: performance.now.bind(performance),
    setTimeout: self.setTimeout.bind(self),
    postTask: self.scheduler?.postTask.bind(scheduler),
    requestAnimationFrame: self.requestAnimationFrame?.bind(self),
  };
  const inWindow = typeof window === 'object';

  function sharedTimeline() {
    try {
      return inWindow && window.top !== window ? window.top.__clock.timeline : null;
    } catch (otherOrigin) {
      return null;
    }
  }
  const timeline = sharedTimeline() ?? {
    now: 0, // ms since the last reset
    past: 0, // ms before the last reset
    until: 0, // where the last advance goes
    random: 0, // state of the generator
    seed: 0,
    sources: [],
    settlers: [], // async functions that let real work end which takes no virtual time; true: look at all again
    realms: new Set(),
    turn: Promise.resolve(), // advances wait for one another
    moving: false, // an advance is under way
    playing: null,
  };
  // `alive` looks the document up at each call: the first document of a window may hand the window to the next one.
  const realm = { self, origin: timeline.now, alive: () => !inWindow || document.defaultView !== null };
  timeline.realms.add(realm);
  timeline.first ??= realm;
  // Parts `{realm?, ...}` that documents have registered, less those of documents that are gone.
  function living(parts) {
    for (let index = parts.length - 1; index >= 0; index--) {
      if (parts[index].realm?.alive() === false) parts.splice(index, 1);
    }
    return parts;
  }

  // Listeners of the clock. What takes those of the page away from a document and its window adds these again (page.js).
  const listeners = [];
  function listen(target, ...listener) {
    listeners.push([target, ...listener]);
    target.addEventListener(...listener);
  }

  // ---- tasks ----
  // The listeners of one message run as tasks do: each with an empty stack, so that all promise reactions of one run
  // before the next, and with errors reported as uncaught.
  const channel = new MessageChannel();
  channel.port1.start();
  function inTask(callbacks) {
    return new Promise((resolve) => {
      for (const callback of [...callbacks, resolve]) {
        channel.port1.addEventListener('message', () => callback(), { once: true });
      }
      channel.port2.postMessage(null);
    });
  }
  const nextTask = () => inTask([]);
  // The value of what a part works at, or undefined when its document goes: then its promises never settle.
  async function ended(part, work) {
    if (!part.realm || part.realm === realm) return work;
    let over = false, value, failure;
    work.then((found) => { [over, value] = [true, found]; }, (error) => { [over, failure] = [true, { error }]; });
    while (!over && part.realm.alive()) await nextTask();
    if (failure) throw failure.error;
    return value;
  }
  const sleep = (ms) => new Promise((resolve) => native.setTimeout(resolve, ms));
  const nativeFrame = (callbacks = []) => new Promise((resolve) => {
    for (const callback of [...callbacks, resolve]) native.requestAnimationFrame(() => callback());
    timeline.wish?.(); // page.js
  });

  // ---- moving time ----
  async function settle() {
    await nextTask(); // what the page posted to itself
    let rounds = 0;
    for (let index = 0; index < timeline.settlers.length;) {
      const more = await timeline.settlers[index]();
      if (more) await nextTask(); // what was waited for may have asked for more
      index = more && ++rounds < MOST_ROUNDS ? 0 : index + 1;
    }
  }
  function next() {
    let first = null;
    for (const source of living(timeline.sources)) {
      const time = Math.max(source.due(), timeline.now);
      if (time < Infinity && !(first && first.time <= time)) first = { time, source };
    }
    return first;
  }
  async function moveTo(until) {
    for (;;) {
      await settle();
      const event = next();
      if (event && event.time <= until) {
        timeline.now = event.time;
        await ended(event.source, event.source.run());
      } else if (timeline.now < until) {
        timeline.now = until;
      } else {
        break;
      }
    }
  }
  function inTurn(work) {
    const turn = timeline.turn.then(async () => {
      timeline.moving = true;
      try { await work(); } finally { timeline.moving = false; }
    });
    timeline.turn = turn.catch(() => {});
    return turn;
  }
  // Moves time by `duration` ms as fast as the machine can, or at `rate` virtual seconds a second: with the same events
  // at the same virtual times. An advance that a navigation cut off is completed first.
  function advance(duration, rate = Infinity) {
    return inTurn(async () => {
      timeline.until = Math.max(timeline.until, timeline.now) + Math.max(0, Number(duration) || 0);
      const start = { real: native.now(), virtual: timeline.now };
      while (rate < Infinity && timeline.now < timeline.until) {
        await sleep(Math.min(PLAY_TICK_MS, (timeline.until - timeline.now) / rate));
        await moveTo(Math.min(timeline.until, start.virtual + (native.now() - start.real) * rate));
      }
      await moveTo(timeline.until);
    });
  }
  const advanceTo = (time) => inTurn(() => moveTo(Math.max(time, timeline.now)));
  // Lets time run at `rate` until pause().
  async function play(rate = 1) {
    await pause();
    const run = { stopped: false };
    const loop = async () => {
      for (let before = native.now(); !run.stopped;) {
        await sleep(PLAY_TICK_MS);
        const now = native.now();
        if (!run.stopped) await advance(Math.min(now - before, LONGEST_TICK_MS) * rate);
        before = now;
      }
    };
    timeline.playing = { run, rate, ended: loop() };
  }
  async function pause() {
    const playing = timeline.playing;
    timeline.playing = null;
    if (playing) {
      playing.run.stopped = true;
      await playing.ended;
    }
  }
  // Time and chance begin again; timers, frames and animations of the page keep what is left of them.
  function reset(seed) {
    for (const source of timeline.sources) source.reset?.(timeline.now, Number(seed));
    timeline.past += timeline.now;
    timeline.now = timeline.until = 0;
    timeline.seed = timeline.random = Math.trunc(Number(seed)) >>> 0;
    for (const one of timeline.realms) one.origin = 0;
  }

  Object.defineProperty(self, '__clock', { value: {
    EPOCH_MS, timeline, realm, native, inWindow,
    living, listeners, listen, ended, inTask, nextTask, sleep, nativeFrame,
    next, advance, advanceTo, play, pause, reset,
  } });
})();
