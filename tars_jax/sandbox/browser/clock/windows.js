// Frames of another origin follow the timeline of the document around them.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, inWindow, listen } = clock;
  const { isOurs, arriveUnsealed } = clock.letters;
  const { begin, end } = timeline.loads;
  const { PARENT, castBy, casting, hearCast, createChild, state, pathOf } = clock.children;
  const { start, follow } = clock.following;
  const { tell, isFollowing } = clock.moment ?? {};
  const LINK = '__clock link', FRAME = '__clock frame'; // the last is display.js's
  if (!inWindow) return;

  // ---- the parent's side ----
  // What a port is to a worker, the windows' own messages are to a frame and its parent.
  const linked = new WeakMap(); // window at the other end -> { child, port }
  const linkTo = (other) => ({ onmessage() {}, postMessage(data) { other.postMessage({ [LINK]: data }, '*'); } });
  const frames = () => [...document.querySelectorAll('iframe')].map((one) => one.contentWindow);
  listen(self, 'message', (event) => {
    const data = event.data?.[LINK], { isTrusted, source } = event;
    if (!isTrusted) return;
    if (!data) {
      if (!event.data?.[FRAME] && !isOurs(source)) arriveUnsealed(event, fromWindow(source));
      return;
    }
    event.stopImmediatePropagation();
    if (!source) return; // its window has gone, as that of a document which another followed in another process
    const known = linked.get(source);
    if (data.cast) {
      hearCast(data, known?.child ?? PARENT, fromWindow(source));
      return;
    }
    if (data.leaves !== undefined) { // no time passes until its next document has loaded
      if (data.leaves) begin(source, { alive: () => frames().includes(source) });
      else end(source);
      return;
    }
    if (!data.begins) { known?.port.onmessage({ data }); return; }
    known?.child.end(); // of the document that was there before
    const place = -2 - frames().indexOf(source), port = linkTo(source);
    const child = createChild(place, () => frames().includes(source), true);
    child.cast = (cast) => port.postMessage(casting(cast));
    child.stand = (stands) => port.postMessage({ stands });
    linked.set(source, { child, port });
    child.attach(port);
    port.postMessage({ start: state(place) });
  }, true);

  function fromWindow(source) {
    const { child } = linked.get(source) ?? {};
    if (child || source === self.parent) return child ? pathOf(child.place) : '';
    return pathOf(-2 - [...Array(self.parent.length).keys()].findIndex((index) => self.parent[index] === source));
  }
  clock.windows = { FRAME };

  // ---- the frame's side ----
  if (!isFollowing) return;
  const port = linkTo(self.parent), turn = { async has() {}, answer: (reply) => port.postMessage({ ...reply, posted: 0 }) };
  castBy((cast) => port.postMessage(casting(cast)));
  port.onmessage = ({ data }) => {
    const { start: begun, stands } = data;
    if (begun) start(begun);
    else if (stands !== undefined) timeline.tellFrames(stands);
    else follow(data, turn);
  };
  linked.set(self.parent, { port });
  port.postMessage({ begins: true });
  clock.windows.away = { // page.js
    begin() { tell(); port.postMessage({ leaves: true }); },
    end: () => port.postMessage({ leaves: false }),
  };
})();
