// The arrows of a number field: a held one goes on on virtual time.
(() => {
  'use strict';
  const { timeline, timers, realm, listen, controls } = self.__clock;
  const { instead, targetOf, focus, tell, isOver } = controls;
  const FIRST_MS = 250, EACH_MS = 50; // as Blink repeats
  const { stepUp, stepDown } = HTMLInputElement.prototype;
  const number = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'valueAsNumber');
  const { get: valueOf } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  const fieldAt = (event) => {
    const field = targetOf(event);
    const has = field instanceof HTMLInputElement && field.type === 'number' && !field.matches(':disabled');
    return has && !field.readOnly && isOver(field, 'inner-spin-button', event) ? field : null;
  };
  const directionOf = (field, { clientY }) => {
    const { top, height } = field.getBoundingClientRect();
    return clientY < top + height / 2 ? 1 : -1;
  };
  let held = null; // {field, direction, over, timer}

  function step({ field, direction }) {
    const before = valueOf.call(field);
    if (field.step.toLowerCase() === 'any') number.set.call(field, (number.get.call(field) || 0) + direction);
    else (direction > 0 ? stepUp : stepDown).call(field);
    if (valueOf.call(field) !== before) tell(field, 'input', 'change');
  }
  function repeat(after) {
    held.timer = timers.add(() => {
      if (!held?.field.isConnected || held.field.matches(':disabled')) { held = null; return; }
      repeat(EACH_MS);
      if (held.over === held.direction) step(held);
    }, realm, after);
  }
  function release() {
    if (held) timers.remove(held.timer);
    held = null;
  }
  listen(self, 'mousedown', (event) => {
    if (!event.isTrusted) return;
    release();
    const field = event.button === 0 ? fieldAt(event) : null;
    if (!field) return;
    const direction = directionOf(field, event);
    instead(event, () => {
      focus(field);
      field.select();
      held = { field, direction, over: direction, timer: 0 };
      repeat(FIRST_MS);
      step(held);
    });
  }, { capture: true, passive: false });
  listen(self, 'mousemove', (event) => {
    if (held && event.isTrusted) held.over = fieldAt(event) === held.field ? directionOf(held.field, event) : 0;
  }, true);
  listen(self, 'mouseup', (event) => { if (event.isTrusted && event.button === 0) release(); }, true);
  timeline.sources.push({ realm, due: () => Infinity, run() {}, reset: release });
})();
