// Timelines that a page makes itself. The browser would run them on real time, as its rate (isolation.py) is that of the
// document's own timeline alone. So their animations are put on that one, and the page sees the timeline that it gave.
(() => {
  'use strict';
  const { timeline, realm, getter } = self.__clock;
  const timelineOf = getter(Document, 'timeline');
  const made = new WeakMap(); // DocumentTimeline -> its origin, ms after that of the document
  const given = new WeakMap(); // Animation -> the timeline that the page put it on
  const placed = (one) => (made.has(one) ? timelineOf(document) : one);
  function noted(animation, one) {
    if (made.has(one)) given.set(animation, one);
    else given.delete(animation);
    return animation;
  }

  for (const name of ['DocumentTimeline', 'Animation']) {
    const Native = self[name];
    const construct = {
      DocumentTimeline(target, [options], as) {
        const one = Reflect.construct(target, options === undefined ? [] : [options], as);
        made.set(one, Number(options?.originTime ?? 0));
        return one;
      },
      Animation(target, [effect, ...rest], as) {
        const values = rest.length ? [effect, placed(rest[0])] : effect === undefined ? [] : [effect];
        return noted(Reflect.construct(target, values, as), rest[0]);
      },
    }[name];
    const value = new Proxy(Native, { construct });
    Native.prototype.constructor = value;
    Object.defineProperty(self, name, { value, writable: true, configurable: true });
  }
  const { animate } = Element.prototype;
  Element.prototype.animate = { animate(keyframes, options) {
    const one = options?.timeline;
    if (!made.has(one)) return animate.apply(this, arguments);
    return noted(animate.call(this, keyframes, { ...options, timeline: timelineOf(document) }), one);
  } }.animate;

  const on = Object.getOwnPropertyDescriptor(Animation.prototype, 'timeline');
  Object.defineProperty(Animation.prototype, 'timeline', {
    ...on,
    get() { return given.get(this) ?? on.get.call(this); },
    ...(on.set && { set(one) {
      on.set.call(this, placed(one));
      noted(this, one);
    } }),
  });
  const currentTime = Object.getOwnPropertyDescriptor(AnimationTimeline.prototype, 'currentTime');
  Object.defineProperty(DocumentTimeline.prototype, 'currentTime', {
    ...currentTime,
    get() { return timeline.now - realm.origin - (made.get(this) ?? 0); },
  });
  // Where an animation counts from: ms after the origin of the document; null on a timeline that is no clock.
  self.__clock.originOf = (animation) => {
    const one = given.get(animation);
    if (one) return made.get(one);
    return on.get.call(animation) === timelineOf(document) ? 0 : null;
  };
  self.__clock.timelineOf = timelineOf;
})();
