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
    random: Math.random,
    now: performance.now.bind(performance),
    setTimeout: self.setTimeout.bind(self),
    clearTimeout: self.clearTimeout.bind(self),
    postMessage: MessagePort.prototype.postMessage,
    postTask: scheduler.postTask.bind(scheduler),
    requestAnimationFrame: self.requestAnimationFrame?.bind(self),
    cancelAnimationFrame: self.cancelAnimationFrame?.bind(self),
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
    ran: 0, news: 0, turns: 0, // go on whenever something of the page may have run, and has changed something
    standing: 0, // transitions of views whose callbacks run: until then there are no frames
    idle: 0, // how much of `ran` was none of the page's
    beats: 0, // goes on while time does not stand for one thing
    id: Math.random(), path: '', // among timelines (letters.js); where it is below the page's own
    round: 0, notBefore: -Infinity, said: 0, // rounds in which those that follow have their turn, and when the next may be
    expected: false, stands: true, // input has come after which time will move; nobody moves it
  };
  // Methods and properties as the browser has them: a page may put others in their place, and the elements of a form and
  // of a document may have their names.
  const { apply } = Reflect;
  function method(owner, name) {
    const work = owner?.prototype[name];
    return work && ((target, ...values) => apply(work, target, values));
  }
  function getter(owner, name) {
    const { get } = Object.getOwnPropertyDescriptor(owner.prototype, name);
    return (target) => apply(get, target, []);
  }
  const addEventListener = method(EventTarget, 'addEventListener');
  const then = method(Promise, 'then');

  // Whether the window still shows a document of this realm: what another one shows may be of another origin, and then
  // nothing may be asked of it. The document is looked up at each call, as the first one may hand the window to the next.
  const viewOf = inWindow && getter(Document, 'defaultView');
  function alive() {
    try {
      return !inWindow || (self.document === document && viewOf(document) === self);
    } catch (otherOrigin) {
      return false;
    }
  }
  const realm = { origin: timeline.now, alive, document: () => (inWindow ? document : null) };
  timeline.realms.add(realm);
  timeline.first ??= realm;
  // Parts `{realm?, ...}` that documents have registered, less those of documents that are gone.
  function living(parts) {
    for (let index = parts.length - 1; index >= 0; index--) {
      if (parts[index].realm?.alive() === false) parts.splice(index, 1);
    }
    return parts;
  }

  function livingRealms() {
    for (const one of timeline.realms) if (!one.alive()) timeline.realms.delete(one);
    return [...timeline.realms];
  }

  // Listeners of the clock. What takes those of the page away from a document and its window adds these again (page.js).
  const listeners = [];
  function listen(target, ...listener) {
    listeners.push([target, ...listener]);
    addEventListener(target, ...listener);
  }
  // Chromium 156 may pass over all of a window's capturing listeners, until it gets another one.
  if (inWindow) listen(self, 'load', () => addEventListener(self, 'load', () => {}, true));

  // ---- tasks ----
  // The listeners of one message run as tasks do: each with an empty stack, so that all promise reactions of one run
  // before the next, and with errors reported as uncaught.
  const channel = new MessageChannel(), postMessage = method(MessagePort, 'postMessage');
  channel.port1.start();
  function inTask(callbacks) {
    if (callbacks.length) timeline.ran += 1;
    return new Promise((resolve) => {
      for (const callback of [...callbacks, resolve]) {
        addEventListener(channel.port1, 'message', () => callback(), { once: true });
      }
      postMessage(channel.port2, null);
    });
  }
  const nextTask = () => inTask([]);
  // The value of what a part works at, or undefined when its document goes: then its promises never settle.
  async function ended(part, work) {
    if (!part.realm || part.realm === realm) return work;
    let over = false, value, failure;
    then(work, (found) => { [over, value] = [true, found]; }, (error) => { [over, failure] = [true, { error }]; });
    while (!over && part.realm.alive()) await nextTask();
    if (failure) throw failure.error;
    return value;
  }
  const sleep = (ms) => new Promise((resolve) => native.setTimeout(resolve, ms));
  const nativeFrame = (callbacks = []) => (timeline.standing ? inTask(callbacks) : new Promise((resolve) => {
    let there = false;
    const asked = [...callbacks, resolve].map((callback) => native.requestAnimationFrame(() => {
      there = true;
      callback();
    }));
    timeline.wish?.(() => there, () => { // page.js, display.js
      for (const number of asked) native.cancelAnimationFrame(number);
      inTask([...callbacks, resolve]);
    });
  }));

  // ---- moving time ----
  async function settle() {
    timeline.beats += 1;
    await timeline.rest(); // messages.js
    const rounds = new Map();
    for (let index = 0; index < timeline.settlers.length;) {
      const settler = timeline.settlers[index];
      const more = await settler();
      rounds.set(settler, (rounds.get(settler) ?? 0) + 1);
      if (more) {
        timeline.ran += 1;
        if (settler.ofOthers) timeline.idle += 1;
        timeline.news += 1;
        await timeline.rest(); // what was waited for may have asked for more
      }
      index = more && rounds.get(settler) < (settler.most ?? MOST_ROUNDS) ? 0 : index + 1;
    }
    timeline.settled();
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
  const isFirst = inWindow && self.top === self;
  function inTurn(work) {
    const turn = then(timeline.turn, async () => {
      timeline.moving = true;
      timeline.ran += 1; // input
      timeline.idle += 1;
      timeline.turns += 1;
      timeline.news += 1;
      if (isFirst) timeline.tellFrames(false);
      try { await work(); } finally {
        timeline.moving = timeline.expected = false;
        if (isFirst) timeline.tellFrames(true);
      }
    });
    timeline.turn = then(turn, () => {}, () => {});
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
    for (const one of livingRealms()) one.origin = 0;
  }

  Object.defineProperty(self, '__clock', { value: {
    EPOCH_MS, timeline, realm, native, inWindow, method, getter, then,
    living, livingRealms, listeners, listen, ended, inTask, nextTask, sleep, nativeFrame,
    next, advance, advanceTo, play, pause, reset,
  } });
})();
