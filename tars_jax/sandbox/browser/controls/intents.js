// What the browser would do by itself after an event, done by hand instead.
//
// It would open a window of the platform, or go on on real time. So the event's default is prevented before the page sees
// it, and the page sees an event that is not. What is done instead comes once all of the page's listeners have had the
// event, before the next input and before time goes on, unless one of them prevented it.
(() => {
  'use strict';
  const { timeline, listen, inTask } = self.__clock;
  timeline.intents ??= createIntents();
  const { waiting, flush } = timeline.intents;
  const { preventDefault } = Event.prototype;

  function createIntents() {
    const all = [];
    function carryOut() {
      const some = all.length > 0;
      while (all.length) {
        const { prevented, act } = all.shift();
        if (!prevented) act();
      }
      return some;
    }
    timeline.settlers.unshift(async () => carryOut());
    return { waiting: all, flush: carryOut };
  }

  function instead(event, act) {
    if (event.defaultPrevented) return;
    const intent = { prevented: false, act };
    preventDefault.call(event);
    const prevent = () => { intent.prevented ||= event.cancelable; };
    Object.defineProperties(event, {
      preventDefault: { configurable: true, value: prevent },
      defaultPrevented: { configurable: true, get: () => intent.prevented },
      returnValue: { configurable: true, get: () => !intent.prevented, set(value) { if (!value) prevent(); } },
    });
    waiting.push(intent);
    inTask([flush]);
  }

  const INPUT = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'pointermove', 'mousemove', 'click', 'keydown',
    'keypress', 'keyup', 'wheel', 'beforeinput'];
  for (const type of INPUT) {
    listen(self, type, (event) => { if (event.isTrusted) flush(); }, { capture: true, passive: true });
  }

  // ---- where an event is, shadow trees that the page keeps to itself included ----
  timeline.closedRoots ??= new WeakMap(); // element -> its shadow root
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (...values) {
    const root = attachShadow.apply(this, values);
    if (root.mode === 'closed') timeline.closedRoots.set(this, root);
    return root;
  };
  const rootOf = (element) => element.shadowRoot ?? timeline.closedRoots.get(element);
  function targetOf(event) {
    let [target] = event.composedPath();
    for (let root; target instanceof Element && (root = rootOf(target));) {
      const inner = 'key' in event ? root.activeElement : root.elementFromPoint(event.clientX, event.clientY);
      if (!inner || inner === target) break;
      target = inner;
    }
    return target;
  }
  function focused() { // in this document
    let element = document.activeElement;
    for (let root; element && (root = rootOf(element)) && root.activeElement;) element = root.activeElement;
    return element;
  }
  // What a press would have focused.
  function focus(element, options) {
    if (focused() !== element) element.focus({ preventScroll: true, focusVisible: false, ...options });
  }
  const tell = (element, ...types) => {
    for (const type of types) element.dispatchEvent(new Event(type, { bubbles: true, composed: type === 'input' }));
  };
  // `resting`: what brings the page back to how an episode finds it.
  const resting = [], rest = async () => { for (const work of resting) await work(); };
  self.__clock.controls = { instead, targetOf, focused, focus, tell, resting, rest };
})();
