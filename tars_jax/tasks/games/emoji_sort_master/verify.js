// The verifier: what counts, worked out from the tubes alone.
"use strict";

window.verify = () => {
  const { tubes, capacity, start_groups, level } = game.state();
  const top = (tube) => tube[tube.length - 1];
  const groups = tubes.flatMap((tube) => tube.filter((kind, i) => kind !== tube[i - 1])).length;
  const success = tubes.every((tube) => tube.every((kind) => kind === tube[0]) && tube.length % capacity === 0);
  const group = (tube) => tube.length - 1 - tube.findLastIndex((kind) => kind !== top(tube));
  const open = tubes.some((from, i) => from.length && tubes.some((to, j) => i !== j
    && group(from) <= capacity - to.length && (to.length ? top(to) === top(from) : group(from) < from.length)));
  const done = success || !open;
  return { score: start_groups - groups, level, lives: done && !success ? 0 : 1, done, success };
};
