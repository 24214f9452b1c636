// A locked pointer, without the browser's own lock, which takes the mouse away from whoever drives it.
//
// While an element has it, the mouse stands where it was, its events go to that element, and `movementX` and `movementY`
// tell how it moved. Events that are for another element come anew there, and are not trusted.
(() => {
  'use strict';
  const { timeline, timers, realm, listen, controls } = self.__clock;
  timeline.lock ??= { element: null, x: 0, y: 0, screenX: 0, screenY: 0 };
  const { lock } = timeline;
  const MOUSE = ['pointermove', 'mousemove', 'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick',
    'dblclick', 'contextmenu', 'wheel'];
  const KINDS = { wheel: WheelEvent, pointer: PointerEvent, mouse: MouseEvent };
  const soon = (work) => timers.add(work, realm, 0);
  const tell = (type, one) => one.dispatchEvent(new Event(type, { bubbles: true }));

  function locked() { // the element, unless it has gone
    if (lock.element && !(lock.element.isConnected && lock.element.ownerDocument.defaultView)) release();
    return lock.element;
  }
  function release(later = soon) {
    const { element } = lock;
    if (!element) return;
    lock.element = null;
    later(() => tell('pointerlockchange', element.ownerDocument));
  }
  function place({ clientX, clientY, screenX, screenY }) {
    Object.assign(lock, { x: clientX, y: clientY, screenX, screenY });
  }
  Element.prototype.requestPointerLock = { requestPointerLock() {
    const owner = this.ownerDocument;
    return new Promise((resolve, reject) => {
      const refuse = (message, name) => soon(() => {
        tell('pointerlockerror', owner);
        reject(new DOMException(message, name));
      });
      if (!this.isConnected) { refuse('The element is not in a document.', 'WrongDocumentError'); return; }
      if (!controls.isActive() && !locked()) { refuse('It takes a user gesture.', 'NotAllowedError'); return; }
      soon(() => {
        lock.element = this;
        tell('pointerlockchange', owner);
        resolve();
      });
    });
  } }.requestPointerLock;
  Document.prototype.exitPointerLock = { exitPointerLock() { release(); } }.exitPointerLock;
  for (const kind of [Document, ShadowRoot]) {
    Object.defineProperty(kind.prototype, 'pointerLockElement', { configurable: true, enumerable: true, get() {
      let element = locked();
      while (element && element.getRootNode() !== this) element = element.getRootNode().host ?? null;
      return element;
    } });
  }

  const stands = () => ({ clientX: lock.x, clientY: lock.y, screenX: lock.screenX, screenY: lock.screenY });
  for (const type of MOUSE) {
    listen(self, type, (event) => {
      if (!event.isTrusted) return;
      const element = locked();
      if (!element) { place(event); return; }
      const there = stands(), { ownerDocument: { defaultView } } = element;
      if (defaultView === self && event.composedPath().includes(element)) {
        const both = { ...there, x: lock.x, y: lock.y, pageX: lock.x + self.scrollX, pageY: lock.y + self.scrollY };
        for (const [name, value] of Object.entries(both)) Object.defineProperty(event, name, { value });
        if (event.target === element) return;
      }
      event.stopImmediatePropagation();
      event.preventDefault();
      const Kind = event instanceof WheelEvent ? KINDS.wheel : event instanceof PointerEvent ? KINDS.pointer : KINDS.mouse;
      const values = { ...there, view: defaultView, bubbles: true, cancelable: true, composed: true };
      const NAMES = ['button', 'buttons', 'movementX', 'movementY', 'detail', 'ctrlKey', 'shiftKey', 'altKey', 'metaKey',
        'pointerId', 'pointerType', 'isPrimary', 'deltaX', 'deltaY', 'deltaMode'];
      for (const name of NAMES) if (event[name] !== undefined) values[name] = event[name];
      element.dispatchEvent(new Kind(type, values));
    }, { capture: true, passive: false });
  }
  listen(self, 'keydown', (event) => {
    if (!event.isTrusted || event.key !== 'Escape' || !locked()) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    release();
  }, true);
  controls.resting.push(() => release((work) => work()));
})();
