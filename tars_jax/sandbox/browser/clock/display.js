// Frames of the browser for a frame of another origin: it asks the document around it, which is asked for its own in turn,
// up to the top. What is not to be seen gets none, however many there are, and then goes on without.
(() => {
  'use strict';
  const { timeline, realm, listen, nativeFrame } = self.__clock;
  const { FRAME: ASK } = self.__clock.windows;
  const MOST = 3; // a process of its own draws after its parent
  const waiting = new Map(); // number -> what hears that the parent has had its frame
  let last = 0, seen = true;
  listen(self, 'message', (event) => {
    const asked = event.data?.[ASK];
    if (!asked) return;
    event.stopImmediatePropagation();
    const { source } = event;
    if (source === self.parent && waiting.has(asked.had)) {
      waiting.get(asked.had)();
      waiting.delete(asked.had);
    } else if (asked.number) {
      nativeFrame().then(() => source?.postMessage({ [ASK]: { had: asked.number } }, '*'));
    }
  }, true);
  if (timeline.first !== realm || self.parent === self) return;
  const parents = () => new Promise((resolve) => {
    waiting.set(++last, resolve);
    self.parent.postMessage({ [ASK]: { number: last } }, '*');
  });
  timeline.wish = async (isThere, goOn) => {
    for (let count = 0; !isThere() && count < (seen ? MOST : 1); count++) await parents();
    seen = isThere();
    if (!seen) goOn();
  };
})();
