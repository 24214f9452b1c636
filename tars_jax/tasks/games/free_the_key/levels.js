// Levels of Free the Key: blocks thrown at random, every position that they reach searched, and one picked that is as
// many slides away from freedom as the level wants. So each level has a solution, and its length is known.
"use strict";

// [blocks besides the key at least, at most, slides at least, at most] of levels 1, 2, ...; the last one stands for all
// that follow
const LEVELS = Kit.fixed([
  [3, 5, 2, 2], [4, 6, 3, 3], [6, 9, 4, 5], [8, 10, 6, 7],
  [9, 11, 8, 9], [9, 11, 9, 11], [10, 11, 11, 14], [10, 11, 14, 18],
]);
const MOST_POSITIONS = 2000, MOST_CHANGES = 150;

// Throws blocks onto the board until there are `count` besides the key, or until many did not fit.
const throwBlocks = (random, blocks, count) => {
  const thrown = [...blocks], taken = occupancy(blocks);
  for (let attempt = 0; attempt < 200 && thrown.length <= count; attempt++) {
    const length = random.next() < 0.7 ? 2 : 3, across = random.next() < 0.5;
    const along = random.below(SIDE + 1 - length), line = random.below(SIDE);
    const block = { column: across ? along : line, row: across ? line : along, length, across };
    const cells = cellsOf(block).map(([column, row]) => row * SIDE + column);
    if ((across && line === EXIT_ROW) || cells.some((cell) => taken[cell] >= 0)) continue;
    cells.forEach((cell) => (taken[cell] = thrown.length));
    thrown.push(block);
  }
  return thrown;
};

// A position as one number: the places of all blocks along their lines.
const codeOf = (blocks) => blocks.reduce((code, block) => code * (SIDE - 1) + placeOf(block), 0);

// The blocks in the position that has this code.
const placed = (blocks, code) => blocks.map((block, number) => {
  const place = Math.floor(code / (SIDE - 1) ** (blocks.length - 1 - number)) % (SIDE - 1);
  return slid(block, place - placeOf(block));
});

// Slides to freedom from every position that these blocks reach, {codes: Map from code to index, distances by index},
// or null if none of them is free or if there are more than `limit`. Slides can be undone, so one search forward finds
// the positions, and one backward from those that are free the distances.
const searchFrom = (blocks, limit) => {
  const count = blocks.length, step = blocks.map(({ across }) => (across ? 1 : SIDE));
  const corner = blocks.map(({ across, column, row }) => (across ? row * SIDE : column));
  const weight = blocks.map((_, number) => (SIDE - 1) ** (count - 1 - number));
  const codes = new Map([[codeOf(blocks), 0]]), places = blocks.map(placeOf);
  const taken = new Uint8Array(SIDE * SIDE), ways = [];
  for (const [code, index] of codes) {
    if (codes.size > limit) return null;
    taken.fill(0);
    for (let number = 0; number < count; number++) {
      const first = corner[number] + places[index * count + number] * step[number];
      for (let cell = 0; cell < blocks[number].length; cell++) taken[first + cell * step[number]] = 1;
    }
    const near = [];
    for (let number = 0; number < count; number++) {
      const place = places[index * count + number], { length } = blocks[number];
      for (const by of [-1, 1]) {
        const edge = by < 0 ? place : place + length - 1;
        for (let far = 1; ; far++) {
          const ahead = edge + by * far;
          if (ahead < 0 || ahead >= SIDE || taken[corner[number] + ahead * step[number]]) break;
          const other = code + by * far * weight[number];
          if (!codes.has(other)) {
            codes.set(other, codes.size);
            for (let k = 0; k < count; k++) places.push(places[index * count + k] + (k === number ? by * far : 0));
          }
          near.push(codes.get(other));
        }
      }
    }
    ways.push(near);
  }
  const distances = ways.map(() => Infinity), queue = [];
  for (let index = 0; index < ways.length; index++) {
    if (places[index * count] + blocks[0].length === SIDE) {
      distances[index] = 0;
      queue.push(index);
    }
  }
  for (const index of queue) {
    for (const other of ways[index]) {
      if (distances[other] !== Infinity) continue;
      distances[other] = distances[index] + 1;
      queue.push(other);
    }
  }
  return queue.length ? { codes, distances } : null;
};

// {blocks, codes, distances}: a level whose key is free after `low` to `high` slides at best. Blocks are taken away and
// thrown again, one at a time, as long as that leads no nearer to freedom, until some position is far enough.
const makeLevel = (random, [fewest, most], [low, high]) => {
  for (let attempt = 0; attempt < 40; attempt++) {
    const key = { column: random.below(SIDE - 2), row: EXIT_ROW, length: 2, across: true };
    const count = random.between(fewest, most);
    let blocks = [key], farthest = 0;
    for (let change = 0; change < MOST_CHANGES; change++) {
      const gone = 1 + random.below(count);
      const changed = throwBlocks(random, blocks.filter((_, number) => number !== gone), count);
      const search = searchFrom(changed, MOST_POSITIONS);
      const far = search ? Math.max(...search.distances) : -1;
      if (far >= farthest) [blocks, farthest] = [changed, far];
      if (far < low) continue;
      const wanted = random.between(low, Math.min(high, far));
      const places = [...search.codes.keys()].filter((_, index) => search.distances[index] === wanted);
      return { blocks: placed(changed, random.pick(places)), ...search };
    }
  }
  throw new RangeError(`option distance: no ${fewest} to ${most} blocks ${low} to ${high} slides from freedom`);
};
