// The virtual clock of a page: one timeline that stands still until `__clock.advance(ms)` moves it.
//
// Runs in every document before any code of the page. Frames of the same origin share the timeline of the top window.
// Date, performance, timers, animation frames, idle callbacks, AbortSignal.timeout, scheduler.postTask and time stamps of
// events read it; Math.random and crypto draw from its seeded generator; animations.js moves CSS and Web Animations on it.
(() => {
  'use strict';
  if (window.__clock) return;
  const FRAMES_PER_SECOND = 60;
  const EPOCH_MS = Date.UTC(2025, 0, 1, 12);
  const MAX_NESTING = 5, NESTED_DELAY_MS = 4; // HTML standard, timer initialisation steps

  const native = {
    Date, channel: new MessageChannel(), reportError: window.reportError.bind(window),
    requestAnimationFrame: window.requestAnimationFrame.bind(window),
  };

  function sharedTimeline() {
    try {
      return window.top === window ? null : window.top.__clock.timeline;
    } catch (crossOrigin) {
      return null;
    }
  }
  const timeline = sharedTimeline() ?? {
    now: 0, // ms since the last reset
    past: 0, // ms before the last reset
    frame: 0, // index of the last animation frame that ran
    timers: new Map(), // id -> {due, order, delay, repeat, nesting, run, owner}
    frames: new Map(), // id -> {callback, owner}
    lastId: 0,
    order: 0,
    nesting: 0, // of the timer that runs now
    random: 0, // state of the generator
    realms: new Set(),
    animations: null, // set by animations.js
  };
  timeline.realms.add(window);
  const wallTime = () => EPOCH_MS + Math.floor(timeline.now);

  // A task of its own between two callbacks, so that all promise reactions of the first run before the second.
  let wake = null;
  native.channel.port1.onmessage = () => wake();
  const nextTask = () => new Promise((resolve) => { wake = resolve; native.channel.port2.postMessage(null); });
  const nextNativeFrame = () => new Promise((resolve) => native.requestAnimationFrame(resolve));
  // Scrolling by the wheel happens in the compositor and reaches the page with one of its next frames; a listener that may
  // prevent it makes the browser wait for the page before it acknowledges the wheel.
  window.addEventListener('wheel', () => {}, { passive: false });
  async function settleScroll() {
    await nextNativeFrame();
    await nextNativeFrame();
  }

  function call(callback, ...values) {
    try {
      callback(...values);
    } catch (error) {
      native.reportError(error);
    }
  }

  // ---- timers ----
  function milliseconds(delay) {
    const number = Math.trunc(Number(delay));
    return number > 0 && number < 2 ** 31 ? number : 0;
  }
  function addTimer(run, delay, repeat) {
    const nesting = timeline.nesting + 1;
    const clamped = nesting > MAX_NESTING ? Math.max(delay, NESTED_DELAY_MS) : delay;
    const id = ++timeline.lastId;
    timeline.timers.set(id, {
      id, run, repeat, delay, nesting, owner: window, due: timeline.now + clamped, order: ++timeline.order,
    });
    return id;
  }
  function compiled(handler, values) {
    if (typeof handler === 'function') return () => handler.apply(window, values);
    return () => (0, window.eval)(String(handler));
  }
  window.setTimeout = function setTimeout(handler, delay, ...values) {
    return addTimer(compiled(handler, values), milliseconds(delay), false);
  };
  window.setInterval = function setInterval(handler, delay, ...values) {
    return addTimer(compiled(handler, values), milliseconds(delay), true);
  };
  window.clearTimeout = function clearTimeout(id) { timeline.timers.delete(Number(id)); };
  window.clearInterval = function clearInterval(id) { timeline.timers.delete(Number(id)); };
  window.requestIdleCallback = function requestIdleCallback(callback) {
    const deadline = { didTimeout: false, timeRemaining: () => 10 };
    return addTimer(() => callback(deadline), 1, false);
  };
  window.cancelIdleCallback = function cancelIdleCallback(id) { timeline.timers.delete(Number(id)); };
  AbortSignal.timeout = function timeout(delay) {
    const controller = new AbortController();
    addTimer(() => controller.abort(new DOMException('signal timed out', 'TimeoutError')), milliseconds(delay), false);
    return controller.signal;
  };
  if (window.scheduler) {
    window.scheduler.postTask = function postTask(callback, { delay = 0, signal } = {}) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) { reject(signal.reason); return; }
        const id = addTimer(() => { try { resolve(callback()); } catch (error) { reject(error); } }, milliseconds(delay), false);
        signal?.addEventListener('abort', () => { timeline.timers.delete(id); reject(signal.reason); });
      });
    };
  }

  function nextTimer() {
    let first = null;
    for (const timer of timeline.timers.values()) {
      if (timer.owner.closed) timeline.timers.delete(timer.id);
      else if (!first || timer.due < first.due || (timer.due === first.due && timer.order < first.order)) first = timer;
    }
    return first;
  }
  function runTimer(timer) {
    if (timer.repeat) {
      timer.nesting += 1;
      const delay = timer.nesting > MAX_NESTING ? Math.max(timer.delay, NESTED_DELAY_MS) : timer.delay;
      timer.due = timeline.now + delay;
      timer.order = ++timeline.order;
    } else {
      timeline.timers.delete(timer.id);
    }
    timeline.nesting = timer.nesting;
    call(timer.run);
    timeline.nesting = 0;
  }

  // ---- animation frames: one time stamp each 1/60 s ----
  window.requestAnimationFrame = function requestAnimationFrame(callback) {
    const id = ++timeline.lastId;
    timeline.frames.set(id, { callback, owner: window });
    return id;
  };
  window.cancelAnimationFrame = function cancelAnimationFrame(id) { timeline.frames.delete(Number(id)); };
  const frameTime = (index) => (index * 1000) / FRAMES_PER_SECOND;
  const nextFrame = () =>
    Math.max(timeline.frame + 1, Math.ceil((timeline.now * FRAMES_PER_SECOND) / 1000 - 1e-6));
  async function runFrame() {
    const waiting = [...timeline.frames];
    for (const [id, { callback, owner }] of waiting) {
      if (!timeline.frames.delete(id) || owner.closed) continue; // cancelled by an earlier callback of this frame
      call(callback, timeline.now);
      await null;
    }
  }

  // ---- advance and reset ----
  async function advance(duration) {
    const until = timeline.now + Math.max(0, Number(duration) || 0);
    await nextTask(); // what the page posted to itself while time stood still
    let animated = timeline.animations.adopt();
    for (;;) {
      const timer = nextTimer();
      const frame = animated || timeline.frames.size ? nextFrame() : Infinity;
      const timerDue = timer ? Math.max(timer.due, timeline.now) : Infinity;
      if (Math.min(timerDue, frameTime(frame)) > until) break;
      if (timerDue <= frameTime(frame)) {
        timeline.now = timerDue;
        runTimer(timer);
      } else {
        timeline.now = frameTime(frame);
        timeline.frame = frame;
        if (animated) await timeline.animations.move();
        await runFrame();
      }
      await nextTask();
      animated = timeline.animations.adopt();
    }
    timeline.now = until;
    if (animated) await timeline.animations.move();
  }
  // Time and chance begin again; timers, frames and animations of the page keep what is left of them.
  function reset(seed) {
    timeline.animations.adopt();
    for (const timer of timeline.timers.values()) timer.due = Math.max(0, timer.due - timeline.now);
    timeline.past += timeline.now;
    timeline.now = 0;
    timeline.frame = 0;
    timeline.random = Math.trunc(Number(seed)) >>> 0;
  }

  // ---- what the page reads ----
  function VirtualDate(...values) {
    if (!new.target) return new native.Date(wallTime()).toString();
    return Reflect.construct(native.Date, values.length ? values : [wallTime()], new.target);
  }
  Object.defineProperty(VirtualDate, 'name', { value: 'Date' });
  Object.defineProperty(VirtualDate, 'length', { value: 7 });
  Object.defineProperty(VirtualDate, 'prototype', { value: native.Date.prototype, writable: false });
  native.Date.prototype.constructor = VirtualDate;
  Object.assign(VirtualDate, { now: wallTime, parse: native.Date.parse, UTC: native.Date.UTC });
  window.Date = VirtualDate;
  const format = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format');
  Object.defineProperty(Intl.DateTimeFormat.prototype, 'format', {
    configurable: true,
    get() {
      const bound = format.get.call(this);
      return (date) => bound(date === undefined ? wallTime() : date);
    },
  });
  const formatToParts = Intl.DateTimeFormat.prototype.formatToParts;
  Intl.DateTimeFormat.prototype.formatToParts = function (date) {
    return formatToParts.call(this, date === undefined ? wallTime() : date);
  };
  if (window.Temporal) {
    const { Now, Instant } = window.Temporal;
    const zoned = (zone) => Instant.fromEpochMilliseconds(wallTime()).toZonedDateTimeISO(zone ?? 'UTC');
    Object.assign(Now, {
      instant: () => Instant.fromEpochMilliseconds(wallTime()),
      zonedDateTimeISO: zoned,
      plainDateTimeISO: (zone) => zoned(zone).toPlainDateTime(),
      plainDateISO: (zone) => zoned(zone).toPlainDate(),
      plainTimeISO: (zone) => zoned(zone).toPlainTime(),
    });
  }
  performance.now = () => timeline.now;
  Object.defineProperty(performance, 'timeOrigin', { configurable: true, get: () => EPOCH_MS });
  Object.defineProperty(AnimationTimeline.prototype, 'currentTime', { configurable: true, get: () => timeline.now });
  const stamps = new WeakMap(); // event -> virtual time of its first handler that asked
  Object.defineProperty(Event.prototype, 'timeStamp', {
    configurable: true,
    get() {
      if (!stamps.has(this)) stamps.set(this, timeline.now);
      return stamps.get(this);
    },
  });

  // mulberry32 (public domain, Tommy Ettinger): 32 bits of state, enough for the look of a game.
  function draw() {
    timeline.random = (timeline.random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(timeline.random ^ (timeline.random >>> 15), 1 | timeline.random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
  Math.random = () => draw() / 2 ** 32;
  crypto.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = draw() & 255;
    return array;
  };

  // The text cursor blinks on real time: it stands, or where that cannot be asked for it is not shown.
  const still = new CSSStyleSheet();
  still.replaceSync(CSS.supports('caret-animation', 'manual')
    ? ':root { caret-animation: manual }' : '* { caret-color: transparent !important }');
  document.adoptedStyleSheets.push(still);

  // ---- what the sandbox calls: one call a step ----
  function canvasImage() {
    const canvas = window.game?.canvas ?? document.querySelector('canvas');
    const covers = canvas && canvas.width === innerWidth && canvas.height === innerHeight && devicePixelRatio === 1;
    return covers ? canvas.toDataURL('image/png') : null;
  }
  async function observe(duration, withCanvas, read) {
    await advance(duration);
    const data = await read();
    let image = null;
    if (withCanvas) {
      try {
        image = canvasImage();
      } catch (tainted) {
        image = null;
      }
    }
    return { data: data === undefined ? null : data, image };
  }
  const clock = { timeline, advance, reset, observe, settleScroll, nextNativeFrame };
  Object.defineProperty(window, '__clock', { value: Object.freeze(clock) });
})();
