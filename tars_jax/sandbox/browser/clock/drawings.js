// SVG's own animations (SMIL) on the timeline, in a browser that has them (launch.py): each svg element has a clock of
// its own, which is stopped and set once a frame. As it is set, the browser tells of beginnings and ends at once; what
// repeats is told from here.
(() => {
  'use strict';
  const { timeline, livingRealms, frames, change, noted, method, getter, inTask, nextTask } = self.__clock;
  const { SVGSVGElement, SVGAnimationElement } = self;
  const time = () => timeline.past + timeline.now; // goes on over a reset
  timeline.drawings ??= createDrawings();
  const { clockOf, positionOf, set, ownerOf } = timeline.drawings;

  function createDrawings() {
    const SVG = 'http://www.w3.org/2000/svg', namespaceURI = getter(Element, 'namespaceURI');
    const DRAWN = 'svg :is(animate, animateMotion, animateTransform, set)';
    const ROUNDING = 1e-5; // of a quotient of two times that the browser gives as floats
    const { trees, findAll } = timeline.animations;
    const ownerOf = getter(self.SVGElement, 'ownerSVGElement');
    const pause = method(SVGSVGElement, 'pauseAnimations'), setCurrentTime = method(SVGSVGElement, 'setCurrentTime');
    const [startTime, simpleDuration] = ['getStartTime', 'getSimpleDuration'].map((name) =>
      method(SVGAnimationElement, name));
    const addEventListener = method(EventTarget, 'addEventListener');
    const dispatchEvent = method(EventTarget, 'dispatchEvent'), getAttribute = method(Element, 'getAttribute');
    const beginElementAt = method(SVGAnimationElement, 'beginElementAt');
    const clocks = new WeakMap(); // svg element -> {position, at, stands}: ms shown then, and whether the page paused it
    const intervals = new WeakMap(); // animation -> {start, repeats} of its interval
    const over = new WeakSet(); // animations whose interval has ended
    let animations = [], drawn = []; // animations, and the svg elements that they are of
    let seen = -1; // how often the page had changed something by then
    let heard = false; // a beginning or an end since the last frame

    function clockOf(svg) {
      if (!clocks.has(svg)) {
        pause(svg);
        clocks.set(svg, { position: 0, at: time(), stands: false });
      }
      return clocks.get(svg);
    }
    const positionOf = ({ position, at, stands }) => position + (stands ? 0 : time() - at);
    // The browser takes a float of seconds and cuts it to microseconds: the first float that is not too early.
    const float = new Float32Array(1), bits = new Uint32Array(float.buffer);
    function set(svg) {
      const microseconds = Math.round(positionOf(clockOf(svg)) * 1000);
      float[0] = microseconds / 1e6;
      while (Math.trunc(float[0] * 1e6) < microseconds) bits[0] += 1;
      setCurrentTime(svg, float[0]);
    }

    const began = ({ target }) => { heard = true; over.delete(target); };
    const ended = ({ target }) => { heard = true; over.add(target); };
    timeline.settlers.unshift(async () => {
      if (seen === timeline.news) return false;
      seen = timeline.news;
      animations = [];
      for (const tree of trees()) {
        const found = [...findAll(tree, DRAWN)].filter((one) => namespaceURI(one) === SVG && ownerOf(one));
        if (!found.length) continue;
        animations.push(...found);
        addEventListener(tree, 'beginEvent', began, true);
        addEventListener(tree, 'endEvent', ended, true);
      }
      drawn = [...new Set(animations.map(ownerOf))];
      const fresh = drawn.filter((svg) => !clocks.has(svg));
      for (const svg of fresh) set(svg);
      return fresh.length > 0;
    });
    function repeats(animation) {
      let start, repeats;
      try {
        start = startTime(animation);
        const active = positionOf(clockOf(ownerOf(animation))) / 1000 - start;
        repeats = Math.floor(active / simpleDuration(animation) + ROUNDING);
      } catch (noIntervalOrNoDuration) {
        return false;
      }
      const before = intervals.get(animation);
      intervals.set(animation, { start, repeats });
      return !over.has(animation) && repeats > (before?.start === start ? Math.max(0, before.repeats) : 0);
    }
    // What begins with a repeat of another one, `begin="one.repeat(2)+1s"`: the browser sees none as it is set.
    function beginWith(repeated) {
      const id = getAttribute(repeated, 'id'), { repeats: number } = intervals.get(repeated);
      if (!id) return;
      for (const other of animations) {
        for (const part of (getAttribute(other, 'begin') ?? '').split(';')) {
          const [, name, count, after] = /^\s*(.+)\.repeat\((\d+)\)\s*(?:\+\s*([\d.]+)s)?\s*$/.exec(part) ?? [];
          if (name === id && Number(count) === number) beginElementAt(other, Number(after ?? 0));
        }
      }
    }
    const moving = () => drawn.filter((svg) => !clockOf(svg).stands);
    async function move() {
      for (const svg of moving()) set(svg);
      await nextTask(); // beginnings and ends
      const repeated = animations.filter((one) => ownerOf(one) && repeats(one));
      for (const one of repeated) beginWith(one);
      await inTask(repeated.map((one) => () => dispatchEvent(one, new Event('repeatEvent'))));
      let eventful = heard || repeated.length > 0;
      heard = false;
      for (const one of livingRealms()) eventful = one.passes() || eventful;
      return eventful;
    }
    frames.natives.push({ active: () => moving().length > 0, move });
    return { clockOf, positionOf, set, ownerOf };
  }

  // ---- what the page asks of such a clock, and tells it ----
  const seconds = (svg) => Math.fround(positionOf(clockOf(svg)) / 1000);
  const { setCurrentTime, animationsPaused } = SVGSVGElement.prototype;
  function anchor(svg, stands) {
    const clock = clockOf(svg);
    Object.assign(clock, { position: positionOf(clock), at: time(), stands });
  }
  Object.assign(SVGSVGElement.prototype, {
    pauseAnimations() { anchor(this, true); },
    unpauseAnimations() { anchor(this, false); },
    animationsPaused() { return animationsPaused.call(this) && clockOf(this).stands; },
    getCurrentTime() { return seconds(this); },
    setCurrentTime(given) {
      setCurrentTime.call(this, given);
      Object.assign(clockOf(this), { position: Number(given) * 1000, at: time() });
      set(this);
      change();
    },
  });
  noted(SVGAnimationElement, 'beginElement', 'beginElementAt', 'endElement', 'endElementAt'); // events at once
  const { getCurrentTime } = SVGAnimationElement.prototype;
  SVGAnimationElement.prototype.getCurrentTime = { getCurrentTime() {
    const svg = ownerOf(this);
    return svg ? seconds(svg) : getCurrentTime.call(this);
  } }.getCurrentTime;
})();
