// Letters: what one timeline says to another, by a worker's own messages, a port, a window or a broadcast.
//
// Each says when it was sent and waits in one queue of the timeline that it came to. Time stands in rounds (children.js):
// in each the timelines have their turn one after another, and what is said in one is heard in the next, in the order of
// who said it, not of who was faster. Where nobody moves time, a letter is heard as it comes.
(() => {
  'use strict';
  const { timeline, realm, inWindow, living, listen, inTask } = self.__clock;
  const LETTER = '__clock letter';
  const follows = !inWindow || (timeline.first === realm && self.parent !== self); // another timeline
  const INPUT = ['mousedown', 'mouseup', 'mousemove', 'click', 'keydown', 'keyup', 'wheel', 'input', 'change'];
  const EARLY = -1; // the round of what was said while nobody moved time
  timeline.inbox ??= createInbox();
  const { add } = timeline.inbox;

  function createInbox() {
    let letters = []; // {at, round, from, number, realm?, child?, tell()}
    const before = (one, other) => one.at - other.at || one.round - other.round ||
      (one.from === other.from ? one.number - other.number : one.from < other.from ? -1 : 1);
    const isReady = ({ round }) => !follows || round < timeline.round;
    const first = () => living(letters).filter(isReady).sort(before)[0];
    timeline.sources.unshift({
      due: () => Math.max(first()?.at ?? Infinity, timeline.notBefore),
      async run() {
        const letter = first();
        letters = letters.filter((one) => one !== letter);
        if (!follows) timeline.round += 1; // what is said from now on was not there yet
        await inTask([letter.tell]);
      },
    });
    return {
      add(letter) { letters.push(letter); },
      drop(child) { letters = letters.filter((one) => one.child !== child); },
      // Those without a time of their own came in time for this one.
      date(now) { for (const one of letters) one.at = Math.min(one.at, now); },
      due: () => Math.min(Infinity, ...living(letters).map(({ at }) => at)),
    };
  }

  // Time will move before anybody else hears: it moves, or follows an input.
  const moves = () => timeline.moving || timeline.expected;
  if (inWindow) {
    for (const type of INPUT) {
      listen(self, type, ({ isTrusted }) => { timeline.expected ||= isTrusted; }, { capture: true, passive: true });
    }
  }

  function sealed(data) {
    const { now: at, id, path: from } = timeline, number = ++timeline.said;
    return { [LETTER]: { at, id, from, number, round: moves() ? timeline.round : EARLY }, data };
  }
  const isLetter = (data) => data?.[LETTER] !== undefined;
  // Of an event that brought a letter: lets it pass, or keeps it until it is `told`, by default to the same target.
  function arrive(event, { child = null, told = null } = {}) {
    const { currentTarget: target, ports, origin, data: { [LETTER]: stamp, data } } = event;
    if (stamp.id === timeline.id || (stamp.round === EARLY && !moves())) {
      if (follows) timeline.now = timeline.until = Math.max(timeline.now, stamp.at);
      if (told) { event.stopImmediatePropagation(); told(data); } else Object.defineProperty(event, 'data', { value: data });
      return;
    }
    event.stopImmediatePropagation();
    const tell = () => target.dispatchEvent(new MessageEvent('message', { data, origin, ports: [...ports] }));
    const at = follows ? stamp.at : Math.min(stamp.at, timeline.now); // a worker's time may have gone ahead of all others
    add({ ...stamp, at, realm, child, tell: told ? () => told(data) : tell });
  }
  // A window, and a port before it is known where it leads, say no more than that they are there: in time for who is told
  // a time next.
  function isOurs(source) {
    try {
      return source === self || source.__clock.timeline === timeline;
    } catch (otherOrigin) {
      return false;
    }
  }
  function arriveUnsealed(event, from = '') {
    if (follows ? timeline.stands : !moves()) return;
    const { currentTarget: target, data, origin, source, ports } = event;
    event.stopImmediatePropagation();
    const tell = () => target.dispatchEvent(new MessageEvent('message', { data, origin, source, ports: [...ports] }));
    add({ at: follows ? Infinity : timeline.now, round: timeline.round, from, number: ++timeline.said, realm, tell });
  }
  self.__clock.letters = { follows, moves, sealed, isLetter, arrive, arriveUnsealed, isOurs, add };
})();
