// What tells a page the time, and chance: all of it read from the timeline.
(() => {
  'use strict';
  const { EPOCH_MS, timeline, realm, native, listen, nextTask } = self.__clock;
  // A loop that waits for a time reads it again and again: time moves on by that, for everybody.
  const MOST_READINGS = 5_000; // within a task, at which time stands
  const READING_MS = 0.25; // each further one
  const COUNTED_FROM = 1_000; // readings after which the end of the task is looked for
  timeline.readings ??= 0;
  function now() {
    timeline.readings += 1;
    if (timeline.readings === COUNTED_FROM) nextTask().then(() => { timeline.readings = 0; });
    if (timeline.readings > MOST_READINGS) timeline.now += READING_MS;
    return timeline.now;
  }
  const wallTime = () => EPOCH_MS + Math.floor(now());
  const sinceOrigin = () => now() - realm.origin;
  const define = (target, name, descriptor) =>
    Object.defineProperty(target, name, { configurable: true, enumerable: false, ...descriptor });

  // ---- dates ----
  function VirtualDate(...values) {
    if (!new.target) return new native.Date(wallTime()).toString();
    return Reflect.construct(native.Date, values.length ? values : [wallTime()], new.target);
  }
  define(VirtualDate, 'name', { value: 'Date' });
  define(VirtualDate, 'length', { value: 7 });
  Object.defineProperty(VirtualDate, 'prototype', { value: native.Date.prototype, writable: false });
  for (const [name, value] of Object.entries({
    now: function now() { return wallTime(); }, parse: native.Date.parse, UTC: native.Date.UTC,
  })) define(VirtualDate, name, { value, writable: true });
  native.Date.prototype.constructor = VirtualDate;
  define(self, 'Date', { value: VirtualDate, writable: true });

  const NativeFile = self.File;
  define(self, 'File', { writable: true, value: new Proxy(NativeFile, {
    construct: (target, [bits, name, ...options], made) =>
      Reflect.construct(target, [bits, name, { lastModified: wallTime(), ...options[0] }], made),
  }) });
  NativeFile.prototype.constructor = self.File;
  if (self.Document) {
    const { get } = Object.getOwnPropertyDescriptor(Document.prototype, 'lastModified');
    const begun = performance.timeOrigin; // real
    define(Document.prototype, 'lastModified', { get() {
      const given = get.call(this);
      if (native.Date.parse(given) < begun - 1000) return given; // what the server said, and not the time of the load
      const two = (number) => String(number).padStart(2, '0');
      const date = new native.Date(EPOCH_MS + realm.origin);
      const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
      return `${two(date.getMonth() + 1)}/${two(date.getDate())}/${date.getFullYear()} ${time}`;
    } });
  }

  const formats = new WeakMap(); // the function that `format` gives is the same each time
  const format = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'format');
  define(Intl.DateTimeFormat.prototype, 'format', {
    get() {
      if (!formats.has(this)) {
        const bound = format.get.call(this);
        formats.set(this, (date) => bound(date === undefined ? wallTime() : date));
      }
      return formats.get(this);
    },
  });
  const formatToParts = Intl.DateTimeFormat.prototype.formatToParts;
  define(Intl.DateTimeFormat.prototype, 'formatToParts', {
    writable: true,
    value: function (date) { return formatToParts.call(this, date === undefined ? wallTime() : date); },
  });
  if (self.Temporal) {
    const { Now, Instant } = self.Temporal;
    const instant = () => Instant.fromEpochMilliseconds(wallTime());
    const zoned = (zone) => instant().toZonedDateTimeISO(zone ?? Now.timeZoneId());
    for (const [name, value] of Object.entries({
      instant,
      zonedDateTimeISO: zoned,
      plainDateTimeISO: (zone) => zoned(zone).toPlainDateTime(),
      plainDateISO: (zone) => zoned(zone).toPlainDate(),
      plainTimeISO: (zone) => zoned(zone).toPlainTime(),
    })) define(Now, name, { value, writable: true });
  }

  // ---- performance ----
  const { mark, measure } = Performance.prototype;
  const origin = () => EPOCH_MS + realm.origin;
  // A moment of the load, which took no virtual time; the browser refuses one that has not come.
  const isOfLoad = (mark) => typeof mark === 'string' && self.PerformanceTiming && mark in performance.timing &&
    performance.timing[mark] > 0;
  const markOf = (mark) => (isOfLoad(mark) ? 0 : mark);
  Object.assign(Performance.prototype, {
    now: function now() { return sinceOrigin(); },
    mark(name, options = {}) { return mark.call(this, name, { startTime: sinceOrigin(), ...options }); },
    measure(name, start, end) {
      if (typeof start === 'object' && start !== null && Object.keys(start).length) {
        const given = { ...start };
        for (const side of ['start', 'end']) if (given[side] !== undefined) given[side] = markOf(given[side]);
        if (end !== undefined) return measure.call(this, name, given, end); // tells what is wrong
        const ends = given.end !== undefined || (given.start !== undefined && given.duration !== undefined);
        return measure.call(this, name, ends ? given : { ...given, end: sinceOrigin() });
      }
      const from = typeof start === 'string' ? markOf(start) : 0;
      return measure.call(this, name, { start: from, end: end === undefined ? sinceOrigin() : markOf(end) });
    },
  });
  define(Performance.prototype, 'timeOrigin', { get: origin });
  if (self.PerformanceTiming) {
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(PerformanceTiming.prototype))) {
      if (get) define(PerformanceTiming.prototype, name, { get() { return get.call(this) && origin(); } });
    }
  }
  function plain() { // of a getter for each value, as the browser's own
    const values = {};
    for (let of = Object.getPrototypeOf(this); of !== Object.prototype; of = Object.getPrototypeOf(of)) {
      const all = Object.entries(Object.getOwnPropertyDescriptors(of));
      for (const [name, { get }] of all) if (get) values[name] = this[name];
    }
    return values;
  }
  Performance.prototype.toJSON = function toJSON() {
    return { timeOrigin: origin(), ...(this.timing && { timing: plain.call(this.timing) }) };
  };
  // What the browser itself measured took no virtual time.
  const byPage = (entry) => /^(mark|measure)$/.test(entry.entryType);
  const isMeasured = (name) => /^Performance(Entry|ScriptTiming)$/.test(name) ||
    (/^[A-Z]\w*(Entry|Timing|Mark|Measure|Paint|Shift)$/.test(name) && self[name].prototype instanceof PerformanceEntry);
  for (const kind of Object.getOwnPropertyNames(self).filter(isMeasured)) {
    self[kind].prototype.toJSON = plain;
    if ('navigationId' in self[kind].prototype) { // drawn by the browser
      define(self[kind].prototype, 'navigationId', { get() { return 1; } });
    }
    for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(self[kind].prototype))) {
      if (!get || !/(Start|End|Time|Timestamp|Complete|Interactive|Duration|^duration|Restart|^interactionId)$/.test(name)) continue;
      define(self[kind].prototype, name, { get() { const value = get.call(this); return byPage(this) ? value : 0; } });
    }
  }
  const { PerformanceMark } = self;
  define(self, 'PerformanceMark', { writable: true, value: new Proxy(PerformanceMark, {
    construct: (target, [name, options], made) =>
      Reflect.construct(target, [name, { startTime: sinceOrigin(), ...options }], made),
  }) });
  PerformanceMark.prototype.constructor = self.PerformanceMark;
  if (self.IntersectionObserverEntry) define(IntersectionObserverEntry.prototype, 'time', { get: sinceOrigin });

  // ---- what the machine and its load would tell ----
  const OF_MACHINE = { Navigator: { hardwareConcurrency: 4 }, WorkerNavigator: { hardwareConcurrency: 4 },
    NetworkInformation: { rtt: 50, downlink: 10, effectiveType: '4g' },
    MemoryInfo: { jsHeapSizeLimit: 2 ** 32, totalJSHeapSize: 10 ** 7, usedJSHeapSize: 10 ** 7 } };
  const prototypes = { MemoryInfo: performance.memory && Object.getPrototypeOf(performance.memory) };
  for (const [kind, values] of Object.entries(OF_MACHINE)) {
    const prototype = prototypes[kind] ?? self[kind]?.prototype;
    for (const [name, value] of Object.entries(prototype ? values : {})) define(prototype, name, { get: () => value });
  }

  // ---- events: the time at which they came, for all that wait for input; otherwise when first asked ----
  const stamps = new WeakMap();
  function stamp(event) {
    if (!stamps.has(event)) stamps.set(event, sinceOrigin());
    return stamps.get(event);
  }
  define(Event.prototype, 'timeStamp', { get() { return stamp(this); } });
  if (self.AnimationPlaybackEvent) {
    define(AnimationPlaybackEvent.prototype, 'timelineTime', { get() { return stamp(this); } });
  }
  for (const type of ['mousedown', 'mouseup', 'click', 'mousemove', 'pointerdown', 'pointerup', 'pointermove',
    'keydown', 'keyup', 'wheel', 'message']) listen(self, type, stamp, { capture: true, passive: true });

  // ---- chance: mulberry32 (public domain, Tommy Ettinger), 32 bits of state, enough for the look of a game ----
  function draw() {
    timeline.random = (timeline.random + 0x6d2b79f5) | 0;
    let mixed = Math.imul(timeline.random ^ (timeline.random >>> 15), 1 | timeline.random);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
  Math.random = function random() { return draw() / 2 ** 32; };
  Crypto.prototype.getRandomValues = function getRandomValues(array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = draw() & 255;
    return array;
  };
  if (self.crypto.randomUUID) {
    Crypto.prototype.randomUUID = function randomUUID() {
      const bytes = this.getRandomValues(new Uint8Array(16));
      bytes[6] = (bytes[6] & 15) | 64; // version 4 of RFC 9562
      bytes[8] = (bytes[8] & 63) | 128;
      const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
      return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    };
  }
})();
