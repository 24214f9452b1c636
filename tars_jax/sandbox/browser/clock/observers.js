// What the browser tells a page with its own frames. A callback that changed something (changes.js) or moved what the
// page wants to hear of is followed by a frame of the browser, so that the news has the time of what caused it.
(() => {
  'use strict';
  const { timeline, livingRealms, frames, change, method, getter } = self.__clock;
  const box = method(Element, 'getBoundingClientRect'), parentElement = getter(self.Node, 'parentElement');
  timeline.observers ??= createObservers();
  const { watch, forget } = timeline.observers;

  function createObservers() {
    let seen = -1; // what the page has run when it was last looked at
    const targets = new Map(); // observer -> Map of targets, each to where it was when last looked at
    function place(target) {
      const { x, y, width, height } = box(target), parent = parentElement(target), around = parent && box(parent);
      return [x, y, width, height, around?.width, around?.height].join();
    }
    timeline.settlers.unshift(async () => {
      let news = timeline.changed;
      timeline.changed = false;
      if (seen !== timeline.ran) for (const one of livingRealms()) news = one.look() || news;
      seen = timeline.ran;
      for (const places of targets.values()) {
        for (const [target, before] of places) {
          const now = place(target);
          news ||= now !== before;
          places.set(target, now);
        }
      }
      if (!news) return false;
      await frames.shown();
      return true;
    });
    return {
      watch(observer, target) {
        if (!targets.has(observer)) targets.set(observer, new Map());
        targets.get(observer).set(target, null);
      },
      forget(observer, target) {
        if (target) targets.get(observer)?.delete(target);
        if (!target || !targets.get(observer)?.size) targets.delete(observer);
      },
    };
  }

  for (const kind of [ResizeObserver, IntersectionObserver]) {
    const { observe, unobserve, disconnect } = kind.prototype;
    Object.assign(kind.prototype, {
      observe(target, ...options) { observe.call(this, target, ...options); watch(this, target); },
      unobserve(target) { unobserve.call(this, target); forget(this, target); },
      disconnect() { disconnect.call(this); forget(this); },
    });
  }

  // Scrolling moves at once: smooth scrolling would move on real time.
  const sudden = (options) => (typeof options === 'object' && options ? { ...options, behavior: 'instant' } : options);
  for (const owner of [self, Element.prototype]) {
    for (const name of ['scroll', 'scrollTo', 'scrollBy', 'scrollIntoView']) {
      const scroll = owner[name];
      if (!scroll) continue;
      owner[name] = function (...values) {
        change();
        return scroll.apply(this, values.length === 1 ? [sudden(values[0])] : values);
      };
    }
  }
  for (const name of ['scrollTop', 'scrollLeft']) {
    const native = Object.getOwnPropertyDescriptor(Element.prototype, name);
    const set = function (value) { change(); native.set.call(this, value); };
    Object.defineProperty(Element.prototype, name, { ...native, set });
  }
})();
