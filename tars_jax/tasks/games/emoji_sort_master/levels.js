// Levels of Emoji Sort Master. The first ones are sorted boards taken apart by moves whose reverse is a pour; the others
// are dealt at random, and dealt again until a solver finds a way.
"use strict";

// [kinds, faces of a kind, empty tubes, moves that take a sorted board apart or 0 for a deal] of levels 1, 2, ...; the
// last one stands for all that follow
const LEVELS = Kit.fixed([
  [4, 3, 2, 2], [4, 4, 2, 4], [4, 4, 1, 0], [5, 4, 1, 0], [7, 4, 2, 0], [9, 4, 2, 0], [10, 4, 2, 0], [12, 4, 2, 0],
]);
const SEARCHED = 20000; // boards that the solver looks at before a deal is given up

// Takes one group apart: part of it goes onto another kind or into an empty tube, from where it could be poured back.
const takeApart = (random, tubes, capacity) => {
  const ways = [];
  tubes.forEach((source, from) => tubes.forEach((target, to) => {
    if (from === to || target.at(-1) === source.at(-1)) return;
    const most = Math.min(topRun(source) - 1, capacity - target.length);
    for (let count = 1; count <= most; count++) ways.push([from, to, count]);
  }));
  if (!ways.length) return;
  const [from, to, count] = random.pick(ways);
  tubes[to].push(...tubes[from].splice(-count));
};

// Whether the board can be sorted. No board comes twice on a way (see canPour), so one that failed once fails always.
const isSolvable = (tubes, capacity) => {
  const failed = new Set();
  const search = (board) => {
    if (isSorted(board, capacity)) return true;
    const name = board.map((tube) => tube.join(",")).sort().join("|");
    if (failed.has(name) || failed.size > SEARCHED) return false;
    const ways = pours(board, capacity);
    const empty = board.findIndex((tube) => !tube.length);
    const wanted = ways.filter(([, to]) => board[to].length).concat(ways.filter(([, to]) => to === empty));
    if (wanted.some(([from, to]) => search(pour(board, from, to)))) return true;
    failed.add(name);
    return false;
  };
  return search(tubes);
};

// The tubes of a level.
const makeLevel = (random, [kinds, capacity, empty, apart]) => {
  const names = random.shuffle(KINDS.slice()).slice(0, kinds);
  for (let attempt = 0; attempt < 200; attempt++) {
    const faces = names.flatMap((name) => Array(capacity).fill(name));
    if (!apart) random.shuffle(faces);
    const tubes = Array.from({ length: kinds + empty }, (_, i) => faces.slice(i * capacity, (i + 1) * capacity));
    for (let i = 0; i < apart; i++) takeApart(random, tubes, capacity);
    if (isSorted(tubes, capacity) || tubes.some((tube) => isFinished(tube, capacity)) && !apart) continue;
    if (apart || isSolvable(tubes, capacity)) return random.shuffle(tubes);
  }
  throw new RangeError(`option empty: no deal of ${kinds} kinds with ${empty} empty tubes that can be sorted was found`);
};
