// What a timeline that follows another does with what it is told: where it begins, a new beginning, and its turn in a round.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, realm, advanceTo, reset } = clock;
  const { totals } = clock.ports;
  const { askAll, works, dueOfAll, activeBelow } = clock.children;

  function start({ now, seed, path, round, stands }) {
    // what waits keeps what is left of it
    for (const source of timeline.sources) source.reset?.(timeline.now - now, seed);
    timeline.now = timeline.until = realm.origin = now;
    timeline.seed = timeline.random = seed;
    Object.assign(timeline, { path, round, stands });
  }
  // `has`: ends once as many messages have come as were sent to it; `answer` sends what there is to say at the end of a turn.
  async function follow({ seed, path, to, sent, asked, round }, { has, answer }) {
    if (seed !== undefined) {
      timeline.path = path;
      reset(seed);
      return;
    }
    await has(sent);
    const before = works();
    if (asked) askAll();
    timeline.round = Math.max(timeline.round, round);
    timeline.inbox.date(to);
    if (dueOfAll() >= to) timeline.now = Math.max(timeline.now, to); // for those below it, too
    await advanceTo(to);
    timeline.asksAll = false;
    answer({ due: dueOfAll(), ports: totals(), active: works() !== before || activeBelow() });
  }
  clock.following = { start, follow };
})();
