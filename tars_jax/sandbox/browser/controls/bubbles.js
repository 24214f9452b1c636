// What is wrong with a field of a form: said below it, where the browser's own bubble would come and go on real time.
(() => {
  'use strict';
  const { timeline, timers, realm, listen, inTask, controls } = self.__clock;
  const { surface } = timeline;
  const { instead, targetOf } = controls;
  const SHORTEST_MS = 5_000, A_LETTER_MS = 50; // as Blink shows it
  const STYLE = 'main { padding: 6px 8px; border-radius: 4px; white-space: pre-wrap; max-width: 240px }';
  let checking = 0, told = false; // told: one of the fields that were found wrong together has been shown

  for (const name of ['HTMLFormElement', 'HTMLInputElement', 'HTMLSelectElement', 'HTMLTextAreaElement',
    'HTMLButtonElement', 'HTMLFieldSetElement', 'HTMLOutputElement', 'HTMLObjectElement', 'ElementInternals']) {
    const { prototype } = self[name], { checkValidity } = prototype;
    prototype.checkValidity = { checkValidity() { // which only asks
      checking += 1;
      try { return checkValidity.call(this); } finally { checking -= 1; }
    } }.checkValidity;
  }
  function say(field) {
    const text = field.validationMessage;
    field.focus();
    if (!text || controls.focused() !== field) return;
    const bubble = {
      style: STYLE,
      build(main) { main.textContent = text; },
      mouse() {},
      keys({ type }) { if (type === 'keydown') surface.close(); return false; },
      stale: () => field.validationMessage !== text,
    };
    surface.open(field, bubble);
    const long = Math.max(SHORTEST_MS, A_LETTER_MS * text.length);
    timers.add(() => { if (surface.picker === bubble) surface.close(); }, realm, long);
  }
  listen(self, 'invalid', (event) => {
    if (!event.isTrusted || checking) return;
    const field = targetOf({ composedPath: () => event.composedPath(), key: '' });
    instead(event, () => {
      if (told) return;
      told = true; // the first that the page leaves to the browser
      say(field);
      inTask([() => { told = false; }]);
    });
  }, true);
})();
