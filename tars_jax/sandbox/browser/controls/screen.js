// Full screen: the browser's own, within the step; Escape leaves it.
(() => {
  'use strict';
  const { timeline, realm, native, nativeFrame, nextTask, inTask, listen, controls } = self.__clock;
  const { isActive } = controls;
  const LONGEST_MS = 5_000; // real
  const FRAMES_AFTER = 4; // the event and the new size may come after the promise
  const TOLD = ['fullscreenchange', 'fullscreenerror', 'webkitfullscreenchange', 'webkitfullscreenerror'];
  timeline.screen ??= createScreen();
  const { begin, end, endUntold, settled } = timeline.screen;

  function createScreen() {
    const waiting = new Map(); // promise, or what stands for one that is not given -> {since, realm, told}
    let over = false; // one of them, since it was last looked
    async function settled() {
      const waits = over || waiting.size > 0;
      while (waiting.size) {
        for (const [key, { since, realm: owner }] of waiting) {
          if (!owner.alive() || native.now() - since > LONGEST_MS) waiting.delete(key);
        }
        await nativeFrame();
        await nextTask();
      }
      for (let frame = 0; waits && frame < FRAMES_AFTER; frame++) await nativeFrame();
      over = false;
      return waits;
    }
    timeline.settlers.push(settled);
    return {
      settled,
      begin(key, owner, told) { waiting.set(key, { since: native.now(), realm: owner, told }); },
      end(key) { over = waiting.delete(key) || over; },
      endUntold() { for (const [key, { told }] of waiting) if (!told) waiting.delete(key); },
    };
  }

  // Long after an input, on virtual time.
  function refused(element, name) {
    const [type, error] = name === 'requestFullscreen'
      ? ['fullscreenerror', Promise.reject(new TypeError('Permissions check failed'))] : ['webkitfullscreenerror'];
    inTask([() => element.dispatchEvent(new Event(type, { bubbles: true, composed: true }))]);
    return error;
  }
  for (const [owner, names] of [
    [Element.prototype, ['requestFullscreen', 'webkitRequestFullscreen', 'webkitRequestFullScreen']],
    [HTMLVideoElement.prototype, ['webkitEnterFullscreen', 'webkitEnterFullScreen', 'webkitExitFullscreen',
      'webkitExitFullScreen']],
    [Document.prototype, ['exitFullscreen', 'webkitExitFullscreen', 'webkitCancelFullScreen']],
  ]) {
    for (const name of names) {
      const work = owner[name];
      if (!work) continue;
      owner[name] = { [name](...values) {
        if (owner === Element.prototype && !isActive()) return refused(this, name);
        const given = work.apply(this, values), key = given ?? {};
        begin(key, realm, Boolean(given));
        given?.then(() => end(key), () => end(key));
        return given;
      } }[name];
    }
  }
  for (const type of TOLD) listen(self, type, endUntold, true);

  const { exitFullscreen } = Document.prototype;
  const shown = Object.getOwnPropertyDescriptor(Document.prototype, 'fullscreenElement');
  const leave = () => { if (shown.get.call(document)) exitFullscreen.call(document).catch(() => {}); };
  listen(self, 'keydown', (event) => {
    if (!event.isTrusted || event.key !== 'Escape' || !shown.get.call(document)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    leave();
  }, true);
  controls.resting.push(async () => {
    leave();
    await settled();
  });
})();
