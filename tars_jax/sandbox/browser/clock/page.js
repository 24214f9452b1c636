// What the sandbox calls in the top document, and what keeps the picture still between the calls.
(() => {
  'use strict';
  const { timeline, realm, native, listeners, listen, advance, play, pause, reset, nativeFrame, sleep } = self.__clock;
  const { method, getter, then, living } = self.__clock;
  const readyState = getter(Document, 'readyState'), querySelector = method(Document, 'querySelector');
  const STORED = 'sandbox clock'; // in sessionStorage, only while one document follows another
  const LONGEST_NAVIGATION_MS = 10_000; // real
  const PATIENCE_MS = 50, DISPLAY_MS = 1000 / 60; // real

  // ---- no motion on real time ----
  // The text cursor stands, or where that cannot be asked for it is not shown.
  const caret = CSS.supports('caret-animation', 'manual')
    ? ':root { caret-animation: manual }' : '* { caret-color: transparent !important }';
  const still = new CSSStyleSheet();
  // Nor does the theme's bar of an unknown length.
  const bar = 'progress:indeterminate { appearance: none }';
  // Nor images, where the browser knows the property (launch.py).
  const images = '* { image-animation: paused !important }';
  still.replaceSync(`${caret} * { scroll-behavior: auto !important } ${bar} ${images}`);
  document.adoptedStyleSheets.push(still);

  // ---- a document that the page writes anew ----
  for (const name of ['open', 'write', 'writeln']) {
    const work = Document.prototype[name];
    Document.prototype[name] = { [name](...values) {
      const result = work.apply(this, values);
      for (const [target, ...listener] of listeners) target.addEventListener(...listener);
      if (!this.adoptedStyleSheets.includes(still) && this === document) this.adoptedStyleSheets.push(still);
      return result;
    } }[name];
  }

  // Whether another document follows: not for `mailto:` and what else is for other programs.
  const leadsAway = ({ destination, hashChange, downloadRequest }) =>
    !destination.sameDocument && !hashChange && downloadRequest === null &&
    /^(https?|blob|data|about|file):/.test(destination.url);

  // ---- a frame's next document: no time passes until it has loaded ----
  const frame = self.frameElement; // null in the top document, and below one of another origin
  const { begin: beginLoad, end: endLoad } = timeline.loads;
  const away = frame ? {
    begin: () => beginLoad(frame, { alive: () => frame.isConnected && frame.contentDocument !== null }),
    end: () => endLoad(frame),
  } : self.__clock.windows.away;
  if (away) {
    listen(self, 'load', away.end);
    if (self.origin === 'null') listen(self, 'beforeunload', away.begin); // such a one is told of no navigation
    self.navigation?.addEventListener('navigate', (event) => {
      if (!leadsAway(event)) return;
      away.begin();
      event.signal.addEventListener('abort', away.end);
    });
  }
  if (self.top !== self) return;

  // ---- one document after another: time and chance go on ----
  let leaving = null; // {since}: this document will be replaced
  self.navigation?.addEventListener('navigate', (event) => {
    if (!leadsAway(event)) return;
    const departure = { since: native.now() };
    leaving = departure;
    event.signal.addEventListener('abort', () => { if (leaving === departure) leaving = null; });
  });
  listen(self, 'pagehide', () => {
    const { now, until, past, random, seed, playing } = timeline;
    const rate = playing?.rate ?? null;
    try {
      self.sessionStorage.setItem(STORED, JSON.stringify({ now, until, past, random, seed, rate }));
    } catch (opaqueOrigin) { /* nothing of this origin follows */ }
  }, true);
  function arrive() {
    let stored = null;
    try {
      stored = self.sessionStorage.getItem(STORED);
      self.sessionStorage.removeItem(STORED);
    } catch (opaqueOrigin) { /* as above */ }
    if (stored === null) return;
    const { rate, ...state } = JSON.parse(stored);
    Object.assign(timeline, state);
    realm.origin = timeline.now;
    if (rate !== null) self.addEventListener('load', () => play(rate));
  }
  arrive();
  timeline.settlers.push(async () => { // no time passes between the documents
    const lasts = () => leaving && native.now() - leaving.since < LONGEST_NAVIGATION_MS;
    while (lasts() && !self.navigation.transition) await sleep(1);
    leaving = null;
  });
  // The host has heard that no document follows: it was a download, or the load of a frame was stopped.
  function stay(address, isDownload) {
    for (const part of living(timeline.elements.parts)) part.abandoned(address);
    if (isDownload) leaving = null;
  }

  // ---- no pointer before the first step ----
  // A window that is new finds the machine's own pointer in its corner, before the page's script or in the middle of it.
  let pointerless = timeline.now === 0 && timeline.past === 0;
  const MOVES = ['over', 'enter', 'move'].flatMap((kind) => [`pointer${kind}`, `mouse${kind}`]);
  for (const kind of MOVES) {
    listen(self, kind, (event) => {
      pointerless &&= event.isTrusted && event.screenX === 0 && event.screenY === 0;
      if (pointerless) event.stopImmediatePropagation();
    }, true);
  }
  function begin(seed) {
    pointerless = false;
    reset(seed);
  }

  // ---- one call a step ----
  // Scrolling by the wheel happens in the compositor and reaches the page with one of its next frames; a listener that
  // may prevent it makes the browser wait for the page before it acknowledges the wheel.
  listen(self, 'wheel', () => {}, { passive: false });
  async function settleScroll() {
    await nativeFrame();
    await nativeFrame();
  }
  const { toDataURL } = HTMLCanvasElement.prototype; // the page may put another in its place, here and below
  const [width, height, pixelRatio] = ['innerWidth', 'innerHeight', 'devicePixelRatio'].map((name) => {
    const { get } = Object.getOwnPropertyDescriptor(self, name);
    return () => get.call(self);
  });
  function canvasImage() {
    const canvas = self.game?.canvas ?? querySelector(document, 'canvas');
    const alone = canvas && timeline.surface.picker === null;
    const covers = alone && canvas.width === width() && canvas.height === height() && pixelRatio() === 1;
    try {
      return covers ? toDataURL.call(canvas, 'image/png') : null;
    } catch (taintedOrNoCanvas) {
      return null;
    }
  }
  let loaded = false; // once is enough: a document that the page writes to without an end never is again
  async function observe(duration, withCanvas, read, rate) {
    if (!loaded && readyState(document) !== 'complete') {
      await new Promise((resolve) => {
        self.addEventListener('load', resolve, { once: true });
        // One whose load was stopped is complete and is told of no load.
        listen(document, 'readystatechange', () => { if (readyState(document) === 'complete') sleep(0).then(resolve); });
      });
    }
    loaded = true;
    await advance(duration, rate);
    if (timeline.children.size) await settleScroll(); // canvases that workers draw
    const data = await read();
    const image = withCanvas ? canvasImage() : null;
    return { __proto__: null, data: data === undefined ? null : data, image }; // whatever a page gives all objects
  }
  // Where the browser makes no frame by itself, a call that waits for one is answered with null. Who called makes a
  // frame and calls `goOn` until there is the call's own answer; a document that has followed meanwhile begins `resume`.
  let work = null, ask = null, wished = false;
  timeline.wish = () => { wished = true; ask?.(); };
  // Work of the browser that time stands for may need frames, too: pictures that it decodes, transitions of views.
  async function wishWhileItLasts(lasting) {
    let over = false, beats = -1;
    const end = () => { over = true; };
    then(lasting, end, end);
    while (!over && work === lasting) {
      await sleep(beats === timeline.beats ? DISPLAY_MS : PATIENCE_MS);
      if (!over && beats === timeline.beats) timeline.wish();
      beats = timeline.beats;
    }
  }
  function goOn(resume) {
    if (!work) {
      work = resume();
      wishWhileItLasts(work);
    }
    return new Promise((resolve, reject) => {
      ask = () => { ask = null; wished = false; resolve(null); };
      if (wished) ask();
      then(work, resolve, reject);
    });
  }
  function wishing(begin) {
    work = ask = null;
    wished = false;
    return goOn(begin);
  }
  Object.assign(self.__clock, { begin, observe, settleScroll, stay, wishing, goOn });
  Object.freeze(self.__clock);
})();
