// CSS animations, transitions and Web Animations on the virtual clock (clock.js, which runs before).
//
// Each animation is paused as soon as it is seen and its currentTime set by hand; one that reaches its end is finished
// natively, so that its events fire. `positions` says where an animation stood and when; `held` are those that the page
// itself paused.
(() => {
  'use strict';
  const { timeline, nextNativeFrame } = window.__clock;
  const prototype = Animation.prototype;
  const native = { play: prototype.play, pause: prototype.pause, reverse: prototype.reverse, finish: prototype.finish };
  const currentTime = Object.getOwnPropertyDescriptor(prototype, 'currentTime');
  const playState = Object.getOwnPropertyDescriptor(prototype, 'playState');
  const read = (animation) => currentTime.get.call(animation);
  const state = (animation) => playState.get.call(animation);

  timeline.animations ??= createDriver();
  const { positions, held } = timeline.animations;

  function createDriver() {
    const positions = new WeakMap(), held = new WeakSet();
    const clock = () => timeline.past + timeline.now; // goes on over a reset
    const place = (animation, time) => positions.set(animation, { time, at: clock() });
    const every = () => [...timeline.realms].flatMap((realm) => (realm.closed ? [] : realm.document.getAnimations()));

    function stopped(animation) {
      if (held.has(animation) || state(animation) === 'finished' || !positions.has(animation)) return true;
      if (!(animation.animationName && animation.effect?.target)) return false;
      const style = getComputedStyle(animation.effect.target, animation.effect.pseudoElement);
      return style.animationPlayState.split(', ').every((value) => value === 'paused');
    }
    // Take over what has started since; true while anything moves.
    function adopt() {
      const animations = every();
      for (const animation of animations) {
        if (held.has(animation) || state(animation) !== 'running') continue;
        place(animation, positions.get(animation)?.time ?? 0);
        native.pause.call(animation);
        currentTime.set.call(animation, positions.get(animation).time);
      }
      return animations.some((animation) => !stopped(animation));
    }
    async function move() {
      let ended = false;
      for (const animation of every()) {
        const { time: from, at } = positions.get(animation) ?? {};
        if (stopped(animation)) {
          if (from !== undefined) place(animation, from);
          continue;
        }
        const time = from + (clock() - at) * animation.playbackRate;
        place(animation, time);
        const end = animation.effect ? animation.effect.getComputedTiming().endTime : 0;
        if (animation.playbackRate > 0 ? time >= end : time <= 0) {
          native.finish.call(animation);
          ended = true;
        } else {
          currentTime.set.call(animation, time);
        }
      }
      if (ended) { // end events are dispatched by the browser's own next frame
        await nextNativeFrame();
        await nextNativeFrame();
      }
    }
    return { positions, held, place, adopt, move };
  }

  function restarted(animation) {
    held.delete(animation);
    timeline.animations.place(animation, read(animation) ?? 0);
    timeline.animations.adopt();
  }
  prototype.play = function play() { native.play.call(this); restarted(this); };
  prototype.reverse = function reverse() { native.reverse.call(this); restarted(this); };
  prototype.pause = function pause() { held.add(this); native.pause.call(this); };
  Object.defineProperty(prototype, 'currentTime', {
    ...currentTime,
    set(time) {
      if (time !== null) timeline.animations.place(this, Number(time));
      currentTime.set.call(this, time);
    },
  });
  Object.defineProperty(prototype, 'playState', {
    ...playState,
    get() {
      return state(this) === 'paused' && positions.has(this) && !held.has(this) ? 'running' : state(this);
    },
  });
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...values) {
    const animation = animate.apply(this, values);
    timeline.animations.adopt();
    return animation;
  };
  for (const type of ['animationstart', 'transitionrun', 'DOMContentLoaded', 'load']) {
    window.addEventListener(type, () => timeline.animations.adopt(), true);
  }
})();
