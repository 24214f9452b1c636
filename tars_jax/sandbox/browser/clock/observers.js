// What the browser tells a page with its own frames: sizes, intersections and scrolling. A callback that moved what the
// page wants to hear of is followed by a frame of the browser, so that the news has the time of what caused it.
(() => {
  'use strict';
  const { timeline, frames } = self.__clock;
  timeline.observers ??= createObservers();
  const { watch, forget, scrolled } = timeline.observers;

  function createObservers() {
    const targets = new Map(); // observer -> Map of targets, each to where it was when last looked at
    let moved = false; // something has scrolled since the last frame of the browser
    function place(target) {
      const { x, y, width, height } = target.getBoundingClientRect();
      const around = target.parentElement?.getBoundingClientRect();
      return [x, y, width, height, around?.width, around?.height, innerWidth, innerHeight].join();
    }
    timeline.settlers.unshift(async () => {
      let news = moved;
      moved = false;
      for (const one of timeline.realms) { // by the focus, a fragment or the history
        const { scrollX, scrollY } = one.self;
        news ||= (one.scrolled?.[0] ?? scrollX) !== scrollX || (one.scrolled?.[1] ?? scrollY) !== scrollY;
        one.scrolled = [scrollX, scrollY];
      }
      for (const places of targets.values()) {
        for (const [target, before] of places) {
          const now = place(target);
          news ||= now !== before;
          places.set(target, now);
        }
      }
      if (news) await frames.shown();
      return news;
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
      scrolled() { moved = true; },
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
        scrolled();
        return scroll.apply(this, values.length === 1 ? [sudden(values[0])] : values);
      };
    }
  }
  for (const name of ['scrollTop', 'scrollLeft']) {
    const native = Object.getOwnPropertyDescriptor(Element.prototype, name);
    const set = function (value) { scrolled(); native.set.call(this, value); };
    Object.defineProperty(Element.prototype, name, { ...native, set });
  }
})();
