// Web Audio and media elements on the timeline.
//
// Nothing is rendered: an AudioContext stays suspended in the browser, and here are its time, its state and the ends of
// its sources. A media element stays paused in the browser, and each frame puts a video that plays where it would be.
(() => {
  'use strict';
  const { timeline, realm, listen, frames, awaitWork, inTask, nativeFrame } = self.__clock;
  const time = () => timeline.past + timeline.now; // goes on over a reset
  const tell = (target, ...types) => inTask(types.map((type) => () => target.dispatchEvent(new Event(type))));
  const define = (target, name, descriptor) =>
    Object.defineProperty(target, name, { configurable: true, enumerable: true, ...descriptor });
  awaitWork(BaseAudioContext.prototype, ['decodeAudioData']);
  awaitWork(OfflineAudioContext.prototype, ['startRendering']);

  // ---- Web Audio ----
  const Native = self.AudioContext;
  const contexts = new WeakMap(); // context -> {state, seconds: at `at`, at}
  const sources = new Map(); // sounding source -> the second of its context at which it ends
  const secondsOf = ({ state, seconds, at }) => seconds + (state === 'running' ? (time() - at) / 1000 : 0);
  const endOf = (source, second) => {
    const state = contexts.get(source.context);
    return state?.state === 'running' ? timeline.now + Math.max(0, second - secondsOf(state)) * 1000 : Infinity;
  };
  timeline.sources.push({
    realm,
    due() {
      return Math.min(Infinity, ...[...sources].map(([source, second]) => endOf(source, second)));
    },
    async run() {
      const [[source]] = [...sources].sort(([a, atA], [b, atB]) => endOf(a, atA) - endOf(b, atB));
      sources.delete(source);
      await tell(source, 'ended');
    },
  });
  function change(context, state) {
    const now = contexts.get(context);
    if (now.state === 'closed') return Promise.reject(new DOMException('the context is closed', 'InvalidStateError'));
    if (now.state !== state) {
      contexts.set(context, { state, seconds: secondsOf(now), at: time() });
      tell(context, 'statechange');
    }
    return Promise.resolve();
  }
  self.AudioContext = self.webkitAudioContext = class AudioContext extends Native {
    constructor(options) {
      super(options);
      super.suspend();
      contexts.set(this, { state: 'running', seconds: 0, at: time() });
    }
    get currentTime() { return secondsOf(contexts.get(this)); }
    get state() { return contexts.get(this).state; }
    resume() { return change(this, 'running'); }
    suspend() { return change(this, 'suspended'); }
    close() { const closed = change(this, 'closed'); super.close(); return closed; }
    getOutputTimestamp() { return { contextTime: this.currentTime, performanceTime: timeline.now - realm.origin }; }
  };
  function sounding(kind, lengthOf) {
    const { start, stop } = kind.prototype;
    define(kind.prototype, 'start', { writable: true, value(when = 0, ...values) {
      start.call(this, when, ...values);
      if (!contexts.has(this.context)) return; // of an OfflineAudioContext
      sources.set(this, Math.max(when, this.context.currentTime) + lengthOf(this, ...values));
    } });
    define(kind.prototype, 'stop', { writable: true, value(when = 0) {
      stop.call(this, when);
      if (sources.has(this)) sources.set(this, Math.min(sources.get(this), Math.max(when, this.context.currentTime)));
    } });
  }
  sounding(AudioScheduledSourceNode, () => Infinity);
  sounding(AudioBufferSourceNode, (source, offset = 0, duration = undefined) => {
    const whole = source.loop ? Infinity : (source.buffer?.duration ?? 0) - offset;
    return Math.max(0, Math.min(whole, duration ?? Infinity)) / source.playbackRate.value;
  });

  // ---- media elements ----
  const { prototype } = HTMLMediaElement;
  const { requestVideoFrameCallback: request, cancelVideoFrameCallback: cancel } = HTMLVideoElement.prototype;
  const pictures = { request, cancel };
  HTMLVideoElement.prototype.requestVideoFrameCallback = { requestVideoFrameCallback(callback) {
    return request.call(this, (_, told) => {
      const now = timeline.now - realm.origin;
      callback.call(this, now, { ...told, presentationTime: now, expectedDisplayTime: now, processingDuration: 0 });
    });
  } }.requestVideoFrameCallback;
  const native = { pause: prototype.pause };
  for (const name of ['currentTime', 'playbackRate']) native[name] = Object.getOwnPropertyDescriptor(prototype, name);
  const playing = new Map(); // element -> {seconds: at `at`, at, told: its last timeupdate}
  const TOLD_EACH_MS = 250;
  const length = (element) => (element.duration > 0 ? element.duration : Infinity);
  function position(element) {
    const { seconds, at } = playing.get(element);
    return Math.min(seconds + ((time() - at) / 1000) * element.playbackRate, length(element));
  }
  const place = (element, seconds) => Object.assign(playing.get(element), { seconds, at: time() });
  function loaded(element) {
    if (element.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return Promise.resolve();
    if (element.error) return Promise.reject(new DOMException('the media cannot be played', 'NotSupportedError'));
    element.preload = 'auto';
    return new Promise((resolve, reject) => {
      element.addEventListener('loadeddata', () => resolve(), { once: true });
      element.addEventListener('error', () => reject(element.error), { once: true });
    });
  }
  // A picture is there once the browser has told of it: when it has sought, it may still show the one before.
  const MOST_FRAMES = 8, pictureless = new WeakSet(); // of which none came within so many
  async function sought(element, seconds) {
    const over = new Promise((resolve) => element.addEventListener('seeked', resolve, { once: true }));
    let there = !(element.videoWidth > 0);
    const number = there ? null : pictures.request.call(element, () => { there = true; });
    native.currentTime.set.call(element, seconds);
    if (element.readyState) await over;
    const most = pictureless.has(element) ? 1 : MOST_FRAMES;
    for (let frame = 0; !there && frame < most; frame++) await nativeFrame();
    if (there) pictureless.delete(element);
    else {
      pictureless.add(element);
      pictures.cancel.call(element, number);
    }
  }
  const media = { loaded, sought };
  awaitWork(media, ['loaded', 'sought']);
  define(prototype, 'play', { writable: true, value: function play() {
    if (!playing.has(this)) {
      const start = this.ended ? 0 : native.currentTime.get.call(this);
      playing.set(this, { seconds: start, at: time(), told: time() });
      tell(this, 'play');
      media.loaded(this).then(() => tell(this, 'playing'), () => playing.delete(this));
    }
    return media.loaded(this);
  } });
  function stop(element, ...types) {
    const last = position(element);
    playing.delete(element);
    media.sought(element, last);
    tell(element, 'timeupdate', 'pause', ...types);
  }
  define(prototype, 'pause', { writable: true, value: function pause() { if (playing.has(this)) stop(this); } });
  define(prototype, 'paused', { get() { return !playing.has(this); } });
  define(prototype, 'ended', {
    get() { return !playing.has(this) && !this.loop && this.currentTime >= length(this); },
  });
  define(prototype, 'currentTime', {
    get() { return playing.has(this) ? position(this) : native.currentTime.get.call(this); },
    set(seconds) {
      media.sought(this, seconds);
      if (playing.has(this)) place(this, Number(seconds));
    },
  });
  define(prototype, 'playbackRate', {
    get() { return native.playbackRate.get.call(this); },
    set(rate) {
      if (playing.has(this)) place(this, position(this));
      native.playbackRate.set.call(this, rate);
    },
  });
  frames.natives.push({
    realm,
    active: () => playing.size > 0,
    async move() {
      let shown = false;
      for (const [element, state] of playing) {
        if (element.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) { place(element, state.seconds); continue; }
        if (position(element) >= length(element)) {
          if (!element.loop) { stop(element, 'ended'); continue; }
          place(element, 0);
        }
        if (element.videoWidth) { await sought(element, position(element)); shown = true; }
        if (time() - state.told >= TOLD_EACH_MS) { state.told = time(); tell(element, 'timeupdate'); }
      }
      return shown;
    },
  });
  // What the browser tells of its own: it starts by itself what has `autoplay` or is played by its controls.
  for (const type of ['play', 'playing', 'pause', 'timeupdate', 'waiting', 'seeking', 'seeked']) {
    listen(self, type, (event) => {
      const { target, isTrusted } = event;
      if (!isTrusted || !(target instanceof HTMLMediaElement)) return;
      if (type === 'play') {
        native.pause.call(target);
        target.play();
      } else if (type === 'seeked' ? true : !playing.has(target) && type !== 'pause' && type !== 'playing') {
        return;
      }
      event.stopImmediatePropagation();
    }, true);
  }
})();
