// What scrolls while the mouse drags near the edge of a scroll box or beyond it: a selection, options of a list.
//
// The browser scrolls in each of its own frames, however many there are. Each frame of the timeline lets it scroll
// once; what it does in others is undone within the frame, before the page hears of it and before there is a picture.
// So how far it goes and the selection that follows are the browser's, and a step takes 1/60 s of virtual time.
(() => {
  'use strict';
  const { timeline, realm, native, frames, listen, method, getter, change, controls } = self.__clock;
  const { apply } = Reflect;
  const BELT = 20; // CSS pixels within the edges, as in Blink
  const FRAMES_OF_INPUT = 2; // of the browser, in which a key or the wheel scrolls
  timeline.drag ??= { held: null, told: new Map() };
  const { drag } = timeline;

  const box = method(Element, 'getBoundingClientRect');
  const [clientLeft, clientTop, clientWidth, clientHeight, scrollWidth, scrollHeight] = ['clientLeft', 'clientTop',
    'clientWidth', 'clientHeight', 'scrollWidth', 'scrollHeight'].map((name) => getter(Element, name));
  const sides = ['scrollLeft', 'scrollTop'].map((name) => {
    const { get, set } = Object.getOwnPropertyDescriptor(Element.prototype, name);
    return { get: (one) => apply(get, one, []), set: (one, value) => apply(set, one, [value]) };
  });
  const [scrollingElement, defaultView] = ['scrollingElement', 'defaultView'].map((name) => getter(Document, name));
  const [nodeType, parentNode, ownerDocument] = ['nodeType', 'parentNode', 'ownerDocument'].map((name) =>
    getter(self.Node, name));
  const assignedSlot = getter(Element, 'assignedSlot');
  const stop = method(Event, 'stopImmediatePropagation');
  const whereIs = (one) => sides.map(({ get }) => get(one));
  const same = (a, b) => a[0] === b[0] && a[1] === b[1];

  // What a drag from `target` may scroll: {one, x, y, whole}, an element, where the mouse has (0, 0) of its document,
  // and whether it stands for the viewport.
  function scrollersAround(target) {
    const found = [];
    let [x, y] = [0, 0];
    for (let one = target; one;) {
      const isDocument = nodeType(one) === 9, viewport = scrollingElement(isDocument ? one : ownerDocument(one));
      if (isDocument ? viewport : nodeType(one) === 1 && one !== viewport) {
        found.push({ one: isDocument ? viewport : one, x, y, whole: isDocument });
      }
      if (!isDocument) {
        one = nodeType(one) === 11 ? one.host : (nodeType(one) === 1 && assignedSlot(one)) || parentNode(one);
        continue;
      }
      try {
        one = defaultView(one)?.frameElement;
      } catch (otherOrigin) { // scrolls by itself
        one = null;
      }
      if (!one) break;
      const { left, top } = box(one);
      [x, y] = [x - left - clientLeft(one), y - top - clientTop(one)];
    }
    return found;
  }
  function isNear({ one, x, y, whole }, mouse) {
    const [width, height] = [clientWidth(one), clientHeight(one)];
    if (scrollWidth(one) <= width && scrollHeight(one) <= height) return false;
    const { left, top } = whole ? { left: 0, top: 0 } : box(one);
    const across = mouse.x - x - left - (whole ? 0 : clientLeft(one));
    const down = mouse.y - y - top - (whole ? 0 : clientTop(one));
    return across < BELT || down < BELT || across > width - BELT || down > height - BELT;
  }
  const extents = ({ scrollers }) =>
    scrollers.map(({ one }) => [...whereIs(one), scrollWidth(one), scrollHeight(one)].join()).join();

  function note({ scrollers }) {
    for (const scroller of scrollers) scroller.place = whereIs(scroller.one);
  }
  // Leaves what the browser may have done now, and undoes the rest.
  function judge(held) {
    if (held.lets || held.input > 0 || !held.near) { note(held); return; }
    for (const scroller of held.scrollers) {
      const now = whereIs(scroller.one);
      if (same(now, scroller.place)) continue;
      sides.forEach(({ set }, side) => set(scroller.one, scroller.place[side]));
      scroller.place = whereIs(scroller.one); // there may be less of it than before
    }
  }
  function eachFrame() {
    const { held } = drag;
    if (!held || held.realm !== realm) return;
    native.requestAnimationFrame(eachFrame);
    judge(held);
    if (held.lets) {
      const now = extents(held);
      if (held.extents === now) held.rests = true;
      else change(); // the selection follows with the next frame
      held.extents = now;
    }
    held.lets = false;
    held.input = Math.max(0, held.input - 1);
  }
  function active() {
    const { held } = drag;
    if (!held?.near || held.carries || held.realm !== realm) return false;
    return !(held.rests && held.extents === extents(held));
  }
  frames.natives.push({
    realm,
    active,
    async move() {
      if (!active()) return false;
      Object.assign(drag.held, { lets: true, rests: false, extents: extents(drag.held) });
      return true;
    },
  });

  // ---- from the press to the release ----
  let pressed = null; // the target, until the mouse moves
  function release() {
    pressed = drag.held = null;
  }
  function follow({ clientX: x, clientY: y }, carries) {
    if (pressed) {
      drag.told = new Map();
      drag.held = {
        realm, scrollers: scrollersAround(pressed), // each with its `place`, where the browser has left it
        near: false, carries: false, // whether the mouse is where it scrolls; something is dragged
        lets: false, // whether this frame scrolls
        rests: false, extents: '', // whether the last one did nothing, at these extents
        input: 0, // frames
      };
      pressed = null;
      note(drag.held);
      for (const { one, place } of drag.held.scrollers) drag.told.set(one, { place, ends: false });
      native.requestAnimationFrame(eachFrame);
    }
    const { held } = drag;
    if (held?.realm !== realm) return;
    judge(held);
    const near = held.scrollers.some((scroller) => isNear(scroller, { x, y }));
    Object.assign(held, { carries, near, rests: false });
  }
  const capture = { capture: true, passive: true };
  listen(self, 'mousedown', (event) => {
    if (!event.isTrusted || event.button !== 0) return;
    release();
    pressed = controls.targetOf(event);
  }, capture);
  listen(self, 'mousemove', (event) => {
    if (!event.isTrusted) return;
    if (event.buttons & 1) follow(event, false);
    else release();
  }, capture);
  listen(self, 'mouseup', (event) => { if (event.isTrusted && event.button === 0) release(); }, capture);
  // What is dragged itself scrolls after a time of the browser's: it never does.
  for (const type of ['dragstart', 'dragover']) {
    listen(self, type, (event) => { if (event.isTrusted) follow(event, true); }, capture);
  }
  listen(self, 'dragend', (event) => { if (event.isTrusted) release(); }, capture);
  timeline.sources.push({ realm, due: () => Infinity, run() {}, reset: release });

  // ---- what else scrolls meanwhile ----
  for (const type of ['keydown', 'wheel']) {
    listen(self, type, (event) => { if (event.isTrusted && drag.held) drag.held.input = FRAMES_OF_INPUT; }, capture);
  }
  function noted(owner, name) {
    const own = Object.getOwnPropertyDescriptor(owner, name);
    if (!own) return;
    const key = own.set ? 'set' : 'value', work = own[key];
    own[key] = { [name](...values) {
      const result = apply(work, this, values);
      if (drag.held) note(drag.held);
      return result;
    } }[name];
    Object.defineProperty(owner, name, own);
  }
  for (const name of ['scroll', 'scrollTo', 'scrollBy', 'scrollIntoView', 'scrollTop', 'scrollLeft']) {
    noted(Element.prototype, name);
  }
  for (const name of ['scroll', 'scrollTo', 'scrollBy']) noted(self, name);
  noted(HTMLElement.prototype, 'focus');

  // ---- what the page hears of ----
  for (const type of ['scroll', 'scrollend']) {
    listen(self, type, (event) => {
      if (!event.isTrusted) return;
      const { target } = event, one = nodeType(target) === 9 ? scrollingElement(target) : target;
      const told = drag.told.get(one);
      if (!told) return;
      if (drag.held) judge(drag.held);
      const now = whereIs(one);
      const news = type === 'scroll' ? !same(now, told.place) : told.ends;
      told.ends = type === 'scroll' && (told.ends || news);
      told.place = now;
      if (!news) stop(event);
    }, true);
  }
})();
