// CSS animations, transitions, Web Animations and those of SVG on the timeline: they stand where the last frame put
// them.
//
// The browser's own timeline of each document has the rate 0 (isolation.py), so nothing moves by itself and every state
// that a page reads is the browser's. Here each running animation is carried on by hand, once a frame. `anchors` says
// where it stood and when; one that has been moved by the page since is anchored anew.
(() => {
  'use strict';
  const { timeline, realm, listen, frames, originOf } = self.__clock;
  const time = () => timeline.past + timeline.now; // goes on over a reset
  timeline.animations ??= createDriver();
  const { anchors, begun, shadows } = timeline.animations;

  function createDriver() {
    const anchors = new WeakMap(); // animation -> {position, at, rate, shown, moved}
    const drawings = new WeakMap(); // svg element -> time at which it was first seen
    const begun = new Map(); // animation that a script began and that will end, in a document or not -> its realm
    const shadows = new Set(); // weak references to shadow roots, of which a document tells nothing
    const named = (value) => Object.prototype.toString.call(value).slice(8, -1);
    function documents() {
      for (const one of timeline.realms) if (!one.alive()) timeline.realms.delete(one);
      return [...timeline.realms].map((one) => one.self.document);
    }
    function scopes() {
      for (const shadow of shadows) if (!shadow.deref()) shadows.delete(shadow);
      return [...documents(), ...[...shadows].map((shadow) => shadow.deref()).filter((root) => root?.isConnected)];
    }
    function running() {
      const all = new Set([...scopes().flatMap((one) => one.getAnimations()), ...begun.keys()]);
      return [...all].filter((animation) => {
        const stays = animation.playState === 'running' && begun.get(animation)?.alive() !== false;
        const runs = stays && named(animation.timeline) === 'DocumentTimeline';
        if (!runs) { anchors.delete(animation); begun.delete(animation); }
        return runs;
      });
    }
    const DRAWN = 'svg :is(animate, animateMotion, animateTransform, set)';
    const drawn = () => scopes().flatMap((one) => (one.querySelector(DRAWN)
      ? [...one.querySelectorAll('svg')].filter((svg) => !svg.ownerSVGElement) : []));

    function anchored(animation) {
      const shown = animation.currentTime ?? 0, rate = animation.playbackRate;
      let anchor = anchors.get(animation);
      if (!anchor || anchor.shown !== shown || anchor.rate !== rate) {
        anchor = { position: shown, at: time(), rate, shown, moved: time() };
        anchors.set(animation, anchor);
      }
      return anchor;
    }
    // Which part of an animation a position is in; a step from one to another has events.
    function part(animation, position) {
      const { delay, duration, iterations } = animation.effect?.getComputedTiming() ?? {};
      const active = position - (delay ?? 0);
      return active < 0 ? -1 : duration > 0 ? Math.min(Math.floor(active / duration), iterations) : 0;
    }
    function carryOn(animation) {
      const anchor = anchored(animation);
      const end = animation.effect ? animation.effect.getComputedTiming().endTime : 0;
      const position = Math.max(0, Math.min(anchor.position + (time() - anchor.at) * anchor.rate, end));
      const before = part(animation, anchor.shown);
      const wasPending = animation.pending;
      animation.currentTime = position;
      anchor.shown = animation.currentTime;
      anchor.moved = time();
      return wasPending || position >= end || position <= 0 || part(animation, position) !== before;
    }
    let before = []; // what ran when it was last looked at
    timeline.settlers.unshift(async () => {
      const animations = running();
      const changed = animations.length !== before.length || animations.some((animation) => !anchors.has(animation));
      before = animations;
      for (const animation of animations) anchored(animation);
      for (const svg of drawn()) {
        if (drawings.has(svg)) continue;
        svg.pauseAnimations();
        drawings.set(svg, time());
      }
      for (let frame = 0; changed && frame < 2; frame++) await frames.shown(); // the events of beginnings and ends
      return changed;
    });
    const active = () => running().length + drawn().length > 0;
    function move() {
      let eventful = false;
      for (const animation of running()) eventful = carryOn(animation) || eventful;
      for (const svg of drawn()) svg.setCurrentTime((time() - (drawings.get(svg) ?? time())) / 1000);
      return eventful;
    }
    frames.natives.push({ active, move });
    return { anchors, begun, shadows };
  }

  // ---- what a document does not tell of: animations of elements outside of it, and those in shadow trees ----
  for (const [kind, names] of [[Element, ['animate']], [Animation, ['play', 'reverse']]]) {
    for (const name of names) {
      const begin = kind.prototype[name];
      kind.prototype[name] = { [name](...values) {
        const given = begin.apply(this, values);
        const animation = given ?? this;
        if (animation.effect?.getComputedTiming().endTime < Infinity) begun.set(animation, realm);
        return given;
      } }[name];
    }
  }
  const seen = new WeakSet();
  function see(root) {
    if (seen.has(root)) return;
    seen.add(root);
    shadows.add(new WeakRef(root));
  }
  function seeBelow(root) { // what the parser attached
    for (const { shadowRoot } of root.querySelectorAll('*')) {
      if (!shadowRoot) continue;
      see(shadowRoot);
      seeBelow(shadowRoot);
    }
  }
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (...values) {
    const root = attachShadow.apply(this, values);
    see(root);
    return root;
  };
  for (const { prototype } of [Element, ShadowRoot]) {
    const { setHTMLUnsafe } = prototype;
    prototype.setHTMLUnsafe = function (...values) { setHTMLUnsafe.apply(this, values); seeBelow(this); };
  }
  listen(document, 'readystatechange', () => seeBelow(document), true);

  // ---- what a page reads that the browser's standing timeline would tell otherwise ----
  const currentTime = Object.getOwnPropertyDescriptor(AnimationTimeline.prototype, 'currentTime');
  const startTime = Object.getOwnPropertyDescriptor(Animation.prototype, 'startTime');
  const standing = () => currentTime.get.call(document.timeline);
  Object.defineProperty(Animation.prototype, 'startTime', {
    ...startTime,
    get() {
      const start = startTime.get.call(this);
      const origin = originOf(this);
      if (start === null || origin === null) return start;
      const moved = anchors.get(this)?.moved ?? time();
      return start - standing() + moved - timeline.past - realm.origin - origin;
    },
    set(start) {
      const origin = start === null ? null : originOf(this);
      startTime.set.call(this, origin === null ? start : start + origin + standing() - (timeline.now - realm.origin));
    },
  });
})();
