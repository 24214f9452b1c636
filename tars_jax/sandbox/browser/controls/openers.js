// What opens a picker of an input, and what a script may open.
(() => {
  'use strict';
  const { timeline, listen, controls } = self.__clock;
  const { surface } = timeline;
  const { instead, targetOf, focused, focus } = controls;
  const ACTIVE_MS = 5_000; // a page may open something for so long after an input, HTML standard, transient activation
  const OF_DATES = /^(date|time|month|week|datetime-local)$/;
  const live = (field) => !field.matches(':disabled') && !field.readOnly;
  const fieldAt = (target, types) => {
    const field = target instanceof HTMLInputElement && types.test(target.type) && live(target) ? target : null;
    return field;
  };
  function open(field) {
    if (!live(field) || surface.control === field) return;
    if (field.type === 'color') controls.openColors(field);
    else if (field.type === 'file') askForFiles(field);
    else if (OF_DATES.test(field.type)) controls.openDates(field);
    else if (field.list) controls.suggest(field);
  }
  // Where the host has files (`surface.hasFiles`), a dialog waits for it; elsewhere there is nothing to choose from.
  function askForFiles(field) {
    if (surface.hasFiles) surface.asking = field;
    else field.dispatchEvent(new Event('cancel', { bubbles: true }));
  }
  controls.fileDialog = () => {
    if (!surface.asking?.isConnected) return '';
    return surface.asking.multiple ? 'files' : 'file';
  };

  // ---- which part of a field is under the mouse: the browser hides them, but lets a style say which takes the mouse ----
  const probe = new CSSStyleSheet();
  const PARTS = ['calendar-picker-indicator', 'inner-spin-button', 'clear-button'];
  function isOver(field, part, { clientX, clientY }) {
    const others = PARTS.filter((one) => one !== part).map((one) => `input::-webkit-${one}`).join(', ');
    probe.replaceSync(`@layer { input { pointer-events: none !important }
      ${others}, input::-webkit-datetime-edit { pointer-events: none !important }
      input::-webkit-${part} { pointer-events: auto !important } }`);
    const root = field.getRootNode(), { adoptedStyleSheets } = root;
    root.adoptedStyleSheets = [...adoptedStyleSheets, probe];
    const over = root.elementFromPoint(clientX, clientY) === field;
    root.adoptedStyleSheets = adoptedStyleSheets;
    return over;
  }
  controls.isOver = isOver;

  // ---- what opens one ----
  listen(self, 'click', (event) => {
    const target = targetOf(event);
    const byPress = fieldAt(target, /^(color|file)$/);
    if (byPress) { // by a script or a label too, for as long after an input as it may
      if (!event.isTrusted && !isActive()) return;
      const wasOpen = event.isTrusted && event.detail > 0 && controls.pressed === byPress;
      instead(event, () => { if (!wasOpen) open(byPress); });
      return;
    }
    const field = event.isTrusted && event.button === 0 ? fieldAt(target, OF_DATES) : null;
    if (field && isOver(field, 'calendar-picker-indicator', event)) {
      const wasOpen = controls.pressed === field;
      instead(event, () => { if (!wasOpen) open(field); });
    } else if (event.isTrusted && target instanceof HTMLInputElement && target.list && live(target)) {
      if (isOver(target, 'calendar-picker-indicator', event)) instead(event, () => open(target));
    }
  }, true);
  listen(self, 'keydown', (event) => {
    const field = event.isTrusted ? fieldAt(targetOf(event), /^(date|time|month|week|datetime-local|color)$/) : null;
    const { key, altKey, ctrlKey } = event;
    const bySpace = key === ' ' && field?.type !== 'color'; // a color is pressed by it, as a button is
    if (field && (bySpace || (altKey ? key === 'ArrowDown' : key === 'F4' && !ctrlKey))) instead(event, () => open(field));
  }, true);
  listen(self, 'keypress', (event) => {
    const field = event.isTrusted && event.key === 'Enter' ? fieldAt(targetOf(event), OF_DATES) : null;
    // The indicator has the focus when none of the parts that the field's own focus stands for has.
    if (field && focused() === field && !field.matches(':focus')) instead(event, () => open(field));
  }, true);

  // ---- what a script may open ----
  timeline.lastInput ??= { at: -Infinity };
  for (const type of ['mousedown', 'pointerup', 'keydown']) {
    listen(self, type, (event) => {
      if (event.isTrusted && event.key !== 'Escape') timeline.lastInput.at = timeline.past + timeline.now;
    }, true);
  }
  const isActive = controls.isActive = () => timeline.past + timeline.now - timeline.lastInput.at < ACTIVE_MS;
  controls.resting.push(() => { timeline.lastInput.at = -Infinity; });
  function showPicker() {
    if (this.matches(':disabled') || this.readOnly) throw new DOMException('it cannot be changed', 'InvalidStateError');
    if (!isActive()) throw new DOMException('showPicker() takes a user gesture', 'NotAllowedError');
    if (this instanceof HTMLSelectElement) controls.openSelect(this);
    else open(this);
  }
  for (const { prototype } of [HTMLInputElement, HTMLSelectElement]) {
    const native = prototype.showPicker;
    prototype.showPicker = { showPicker() {
      if (this instanceof HTMLSelectElement && !controls.isMenu(this)) return native.call(this);
      return showPicker.call(this);
    } }.showPicker;
  }
  for (const name of ['showOpenFilePicker', 'showSaveFilePicker', 'showDirectoryPicker']) {
    if (!self[name]) continue;
    self[name] = { async [name]() { throw new DOMException('The user aborted a request.', 'AbortError'); } }[name];
  }
})();
