// Timers, idle callbacks, tasks with priorities and animation frames: what runs when the timeline reaches its time.
(() => {
  'use strict';
  const { timeline, realm, living, ended, inTask, nextTask, nativeFrame } = self.__clock;
  const FRAMES_PER_SECOND = 60;
  const TIMER = { most: 5, least: 4 }; // nesting, and ms when it is deeper: HTML standard, timer initialisation steps
  const TASK = { most: 1_000, least: 1 }; // a chain of tasks without an end lets time go on
  const IDLE_AFTER_MS = 1, IDLE_FOR_MS = 10;
  const RANKS = { 'user-blocking': 0, 'user-visible': 1, background: 2 };

  timeline.timers ??= createTimers();
  timeline.frames ??= createFrames();
  const { timers, frames } = timeline;

  function createTimers() {
    const waiting = new Map(); // id -> {due, rank, order, delay, repeat, nesting, most, least, run, realm}
    let lastId = 0, order = 0, nesting = 0; // nesting of the timer that runs now
    const before = (a, b) => a.due - b.due || a.rank() - b.rank() || a.order - b.order;
    function first() {
      let found = null;
      for (const [id, timer] of waiting) {
        if (!timer.realm.alive()) waiting.delete(id);
        else if (!found || before(timer, found) < 0) found = timer;
      }
      return found;
    }
    const clamped = ({ delay, nesting: depth, most, least }) => (depth > most ? Math.max(delay, least) : delay);
    const schedule = (timer) => Object.assign(timer, { due: timeline.now + clamped(timer), order: ++order });
    const source = {
      due: () => first()?.due ?? Infinity,
      async run() {
        const timer = first();
        if (timer.repeat) {
          timer.nesting += 1;
          schedule(timer);
        } else {
          waiting.delete(timer.id);
        }
        nesting = timer.nesting;
        await inTask([timer.run]);
        nesting = 0;
      },
      reset(now) {
        for (const timer of waiting.values()) timer.due = Math.max(0, timer.due - now);
      },
    };
    timeline.sources.push(source);
    return {
      newId: () => ++lastId,
      add(run, owner, delay, { repeat = false, rank = () => RANKS['user-visible'], kind = TIMER } = {}) {
        const id = ++lastId;
        waiting.set(id, schedule({ id, run, delay, repeat, rank, nesting: nesting + 1, ...kind, realm: owner }));
        return id;
      },
      remove: (id) => { waiting.delete(Number(id)); },
    };
  }

  // One time stamp each 1/60 s. A frame in which the browser has events of its own (animations that end, see `natives`)
  // is made of a frame of the browser; the others need none.
  function createFrames() {
    const waiting = new Map(); // id -> {callback, realm}
    const natives = []; // {realm?, active(), move()}: whether it wants frames; carries on, true if the browser has events
    let index = 0; // of the last frame
    const time = (frame) => (frame * 1000) / FRAMES_PER_SECOND;
    const upcoming = () => Math.max(index + 1, Math.ceil((timeline.now * FRAMES_PER_SECOND) / 1000 - 1e-6));
    const source = {
      due: () => (waiting.size || living(natives).some((part) => part.active()) ? time(upcoming()) : Infinity),
      async run() {
        index = upcoming();
        let eventful = false;
        for (const part of [...living(natives)]) eventful = (await ended(part, part.move())) || eventful;
        const callbacks = [...waiting].map(([id, { callback, realm: owner }]) => () => {
          const cancelled = !waiting.delete(id); // by an earlier one
          if (!cancelled && owner.alive()) callback(timeline.now - owner.origin);
        });
        await (eventful ? shown(callbacks) : inTask(callbacks));
      },
      reset() { index = 0; },
    };
    timeline.sources.push(source);
    // A frame of the browser between two callbacks, with what it posts at its end, and what that posts.
    async function shown(callbacks = []) {
      timeline.ran += 1;
      await nativeFrame(callbacks);
      await nextTask();
      await nextTask();
    }
    return { waiting, natives, shown };
  }

  // ---- what the page calls ----
  function milliseconds(delay) {
    const number = Math.trunc(Number(delay));
    return number > 0 && number < 2 ** 31 ? number : 0;
  }
  function compiled(handler, values) {
    if (typeof handler === 'function') return () => handler.apply(self, values);
    return () => (0, self.eval)(String(handler));
  }
  self.setTimeout = function setTimeout(handler, delay = 0, ...values) {
    return timers.add(compiled(handler, values), realm, milliseconds(delay));
  };
  self.setInterval = function setInterval(handler, delay = 0, ...values) {
    return timers.add(compiled(handler, values), realm, milliseconds(delay), { repeat: true });
  };
  self.clearTimeout = function clearTimeout(id = 0) { timers.remove(id); };
  self.clearInterval = function clearInterval(id = 0) { timers.remove(id); };
  if (self.requestAnimationFrame) {
    self.requestAnimationFrame = function requestAnimationFrame(callback) {
      if (typeof callback !== 'function') throw new TypeError('requestAnimationFrame takes a function');
      const id = timers.newId();
      frames.waiting.set(id, { callback, realm });
      return id;
    };
    self.cancelAnimationFrame = function cancelAnimationFrame(id) { frames.waiting.delete(Number(id)); };
  }
  if (self.requestIdleCallback) {
    self.requestIdleCallback = function requestIdleCallback(callback) {
      return timers.add(() => {
        const end = timeline.now + IDLE_FOR_MS;
        callback({ didTimeout: false, timeRemaining: () => Math.max(0, end - timeline.now) });
      }, realm, IDLE_AFTER_MS);
    };
    self.cancelIdleCallback = function cancelIdleCallback(id) { timers.remove(id); };
  }
  AbortSignal.timeout = function timeout(delay) {
    const controller = new AbortController();
    const reason = () => new DOMException('signal timed out', 'TimeoutError');
    timers.add(() => controller.abort(reason()), realm, milliseconds(delay));
    return controller.signal;
  };
  const { wait, waitAsync, notify } = Atomics;
  Atomics.wait = { wait(array, index, value, timeout) {
    const how = wait.call(Atomics, array, index, value, timeout);
    if (how === 'timed-out') timeline.now += Math.max(0, Number(timeout));
    return how;
  } }.wait;
  if (waitAsync) Atomics.waitAsync = { waitAsync(array, index, value, timeout) {
    if (!(Number(timeout) > 0 && timeout < Infinity)) return waitAsync.call(Atomics, array, index, value, timeout);
    const waits = waitAsync.call(Atomics, array, index, value);
    if (!waits.async) return waits;
    let late = false;
    const id = timers.add(() => { late = true; notify.call(Atomics, array, index, 1); }, realm, Number(timeout));
    const told = waits.value.then((how) => { timers.remove(id); return late ? 'timed-out' : how; });
    return { async: true, value: told };
  } }.waitAsync;
  if (self.scheduler) {
    Scheduler.prototype.postTask = function postTask(callback, { delay = 0, signal, priority } = {}) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) { reject(signal.reason); return; }
        const rank = () => RANKS[priority ?? signal?.priority ?? 'user-visible'];
        const id = timers.add(() => {
          try { resolve(callback()); } catch (error) { reject(error); }
        }, realm, milliseconds(delay), { rank, kind: TASK });
        signal?.addEventListener('abort', () => { timers.remove(id); reject(signal.reason); });
      });
    };
  }
  self.__clock.timers = timers;
  self.__clock.frames = frames;
})();
