// CSS animations, transitions and Web Animations on the timeline: they stand where the last frame put them.
//
// The browser's own timeline of each document has the rate 0 (isolation.py), so nothing moves by itself and every state
// that a page reads is the browser's. Here each running animation is carried on by hand, once a frame. `anchors` says
// where it stood and when; one that has been moved by the page since is anchored anew.
(() => {
  'use strict';
  const { timeline, realm, livingRealms, listen, frames, originOf, timelineOf } = self.__clock;
  const { change, noted, observeTree, method, getter } = self.__clock;
  const nodeType = getter(self.Node, 'nodeType'), isConnected = getter(self.Node, 'isConnected');
  const [ofDocument, ofShadow] = [[Document, Document], [ShadowRoot, self.DocumentFragment]].map(([kind, parent]) => ({
    animations: method(kind, 'getAnimations'),
    findAll: method(parent, 'querySelectorAll'),
  }));
  const of = (root) => (nodeType(root) === DOCUMENT ? ofDocument : ofShadow);
  const position = Object.getOwnPropertyDescriptor(Animation.prototype, 'currentTime'); // as the browser has it
  const ELEMENT = 1, DOCUMENT = 9; // Node.nodeType
  const EXACT_MS = 1e-6; // as the browser counts from a start
  const time = () => timeline.past + timeline.now; // goes on over a reset
  timeline.animations ??= createDriver();
  const { anchors, begun, shadows } = timeline.animations;

  function createDriver() {
    const anchors = new WeakMap(); // animation -> {position, at, rate, shown, moved}
    const begun = new Map(); // animation that a script began and that will end, in a document or not -> its realm
    const shadows = new Set(); // weak references to shadow roots, of which a document tells nothing
    const named = (value) => Object.prototype.toString.call(value).slice(8, -1);
    const documents = () => livingRealms().map((one) => one.document());
    function trees() {
      for (const shadow of shadows) if (!shadow.deref()) shadows.delete(shadow);
      const roots = [...shadows].map((shadow) => shadow.deref());
      return [...documents(), ...roots.filter((root) => root && isConnected(root))];
    }
    // The browser sorts what it gives by place, which takes the square of the number of neighbors: it is asked only
    // when the page has changed something.
    let before = []; // what ran when it was last looked at
    let seen = -1; // how often the page had changed something by then
    function running() {
      const all = new Set([...trees().flatMap((one) => of(one).animations(one)), ...begun.keys()]);
      return [...all].filter((animation) => !isOver(animation));
    }
    function isOver(animation) {
      const stays = animation.playState === 'running' && begun.get(animation)?.alive() !== false;
      const over = !stays || named(animation.timeline) !== 'DocumentTimeline';
      if (over) { anchors.delete(animation); begun.delete(animation); }
      return over;
    }

    // What the browser is asked of an animation, when the page has changed something.
    function anchored(animation) {
      const shown = animation.currentTime ?? 0, rate = animation.playbackRate;
      let anchor = anchors.get(animation);
      if (!anchor || Math.abs(anchor.shown - shown) > EXACT_MS || anchor.rate !== rate) {
        anchor = { position: shown, at: time(), rate, shown, moved: time() };
        anchors.set(animation, anchor);
      }
      anchor.timing = animation.effect?.getComputedTiming() ?? { endTime: 0 };
      anchor.pending = animation.pending;
    }
    // Which part of an animation a position is in; a step from one to another has events.
    function part({ delay, duration, iterations }, position) {
      const active = position - (delay ?? 0);
      return active < 0 ? -1 : duration > 0 ? Math.min(Math.floor(active / duration), iterations) : 0;
    }
    // Sets where each stands; whether that has events. Nothing is asked in between: after each change the browser would
    // work out the style of all that is animated.
    function carryOn() {
      const ending = new Set();
      let eventful = false;
      for (const animation of before) {
        const anchor = anchors.get(animation), { endTime } = anchor.timing;
        const to = Math.max(0, Math.min(anchor.position + (time() - anchor.at) * anchor.rate, endTime));
        if (to >= endTime || to <= 0) ending.add(animation);
        eventful ||= anchor.pending || ending.size > 0 || part(anchor.timing, to) !== part(anchor.timing, anchor.shown);
        position.set.call(animation, to);
        Object.assign(anchor, { shown: to, moved: time(), pending: false });
      }
      if (ending.size) before = before.filter((animation) => !ending.has(animation) || !isOver(animation));
      return eventful;
    }
    timeline.settlers.unshift(async () => {
      if (seen === timeline.news) return false;
      seen = timeline.news;
      const animations = running();
      const changed = animations.length !== before.length || animations.some((animation) => !anchors.has(animation));
      before = animations;
      for (const animation of animations) anchored(animation);
      for (let frame = 0; changed && frame < 2; frame++) await frames.shown(); // the events of beginnings and ends
      return changed;
    });
    const active = () => before.length > 0;
    function move() {
      let eventful = carryOn();
      for (const one of livingRealms()) eventful = one.passes() || eventful;
      return eventful;
    }
    frames.natives.push({ active, move });
    return { anchors, begun, shadows, trees, findAll: (root, selector) => of(root).findAll(root, selector) };
  }

  // ---- what a document does not tell of: animations of elements outside of it, and those in shadow trees ----
  noted(Element, 'animate');
  noted(Animation, 'play', 'reverse', 'pause', 'cancel', 'finish', 'updatePlaybackRate', 'currentTime', 'playbackRate',
    'effect');
  noted(self.AnimationEffect, 'updateTiming');
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
  for (const type of ['animationstart', 'transitionrun']) listen(document, type, change, true); // by another one
  const seen = new WeakSet();
  function see(root) {
    if (seen.has(root)) return;
    seen.add(root);
    shadows.add(new WeakRef(root));
    observeTree(root);
  }
  const everything = method(Element, 'querySelectorAll');
  const findAll = (root) => (nodeType(root) === ELEMENT ? everything : of(root).findAll)(root, '*');
  const shadowOf = getter(Element, 'shadowRoot');
  function seeBelow(root) { // what the parser attached
    for (const element of findAll(root)) {
      const shadowRoot = shadowOf(element);
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
  const standing = () => currentTime.get.call(timelineOf(document));
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
      change();
      const origin = start === null ? null : originOf(this);
      startTime.set.call(this, origin === null ? start : start + origin + standing() - (timeline.now - realm.origin));
    },
  });
})();
