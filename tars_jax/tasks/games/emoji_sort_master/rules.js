// The rules of Emoji Sort Master. A tube is a list of kinds, from the bottom up; there are as many faces of each kind as
// a tube holds.
"use strict";

const KINDS = Kit.fixed([
  "happy", "angry", "sad", "silly", "love", "cool", "sleepy", "wow", "calm", "wink", "grumpy", "shy",
]);

// How many faces of one kind lie on top.
const topRun = (tube) => {
  let run = tube.length ? 1 : 0;
  while (run && run < tube.length && tube.at(-run - 1) === tube.at(-1)) run += 1;
  return run;
};

// A group of equal faces goes onto its own kind or into an empty tube, where all of it fits. Moving all of a tube into an
// empty one would change nothing. So every pour joins two groups or fills one more tube: no board comes twice, and a game
// comes to an end.
const canPour = (tubes, capacity, from, to) => {
  const source = tubes[from], target = tubes[to];
  if (from === to || !source.length || topRun(source) > capacity - target.length) return false;
  return target.length ? target.at(-1) === source.at(-1) : topRun(source) < source.length;
};

// The tubes after the group on top of `from` went to `to`.
const pour = (tubes, from, to) => {
  const count = topRun(tubes[from]);
  return tubes.map((tube, i) => {
    if (i === from) return tube.slice(0, tube.length - count);
    return i === to ? tube.concat(tubes[from].slice(-count)) : tube;
  });
};

const pours = (tubes, capacity) => tubes.flatMap((_, from) =>
  tubes.map((__, to) => [from, to]).filter(([, to]) => canPour(tubes, capacity, from, to)));

// Groups of equal faces that touch. A pour never adds one; a sorted board has one for each kind.
const groups = (tubes) => tubes.reduce((sum, tube) =>
  sum + tube.filter((kind, i) => i === 0 || kind !== tube[i - 1]).length, 0);

const isFinished = (tube, capacity) => tube.length === capacity && topRun(tube) === capacity;

const isSorted = (tubes, capacity) => tubes.every((tube) => !tube.length || isFinished(tube, capacity));
