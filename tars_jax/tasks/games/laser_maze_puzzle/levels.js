// Levels of Laser Maze Puzzle: the lit beam is drawn first, from mirror to mirror; targets lie on it, walls and further
// mirrors beside it. Then the mirrors are turned away.
"use strict";

// [columns and rows, mirrors of the beam, targets on it, splitters with a target each, further mirrors, walls] of
// levels 1, 2, ...; the last one stands for all that follow
const LEVELS = Kit.fixed([
  [6, 2, 1, 0, 2, 4], [6, 3, 1, 0, 2, 4], [6, 4, 2, 0, 2, 4], [6, 5, 2, 0, 2, 4], [8, 6, 3, 0, 3, 7],
  [8, 7, 2, 1, 4, 7], [10, 8, 3, 1, 5, 10], [10, 9, 3, 2, 6, 12],
]);

const SLANTED = Kit.fixed([1, 3]);

// The beam from a source on the border: {source, mirrors, way: its cells, tail: those after the last mirror}, or null.
const drawBeam = (random, size, count) => {
  const direction = random.below(4), along = random.below(size);
  const start = [[along, size - 1], [0, along], [along, 0], [size - 1, along]][direction];
  const source = { at: start, direction }, mirrors = [], way = [];
  const blocked = (cell) => sameCell(cell, start) || mirrors.some(({ at }) => sameCell(at, cell));
  let at = start, heading = direction;
  const ahead = () => {
    const cells = [];
    for (let [x, y] = at; ;) {
      [x, y] = [x + WAYS[heading][0], y + WAYS[heading][1]];
      if (x < 0 || y < 0 || x >= size || y >= size || blocked([x, y])) return cells;
      cells.push([x, y]);
    }
  };
  for (let i = 0; i < count; i++) {
    const cells = ahead(), free = cells.filter((cell) => !hasCell(way, cell));
    if (!free.length) return null;
    const place = random.pick(free), turn = random.pick(SLANTED);
    way.push(...cells.slice(0, cells.indexOf(place)));
    mirrors.push({ at: place, turn });
    at = place;
    heading = REFLECTED[turn][heading];
  }
  const tail = ahead();
  return tail.length ? { source, mirrors, way, tail } : null;
};

// Puts a splitter on a cell of the beam, and a target where its second beam brings new light. False if it brings none.
const addSplitter = (random, level, way, empty) => {
  const before = traceBeam(level);
  for (const cell of random.shuffle(way.filter(empty))) {
    const splitter = { at: cell, turn: random.pick(SLANTED) };
    const steps = traceBeam({ ...level, splitters: [...level.splitters, splitter] });
    const isNew = (step) => !sameCell(step, cell) && !before.some((one) => sameCell(one, step));
    const fresh = steps.filter((step) => empty(step) && isNew(step));
    if (!fresh.length) continue;
    level.splitters.push(splitter);
    level.targets.push(random.pick(fresh).slice(0, 2));
    return true;
  }
  return false;
};

const oneMirrorIsEnough = (level) => level.mirrors.some((_, index) => [1, 2, 3].some((clicks) => {
  const turned = ({ at, turn }, i) => ({ at, turn: i === index ? (turn + clicks) % 4 : turn });
  return litTargets({ ...level, mirrors: level.mirrors.map(turned) }).length === level.targets.length;
}));

// A level: {size, source, mirrors, splitters, walls, targets}. The mirrors stand turned away from the drawn beam.
const makeLevel = (random, [size, count, targets, splitters, further, walls]) => {
  for (let attempt = 0; attempt < 400; attempt++) {
    const beam = drawBeam(random, size, count);
    if (!beam) continue;
    const { source, mirrors, way, tail } = beam;
    const level = { size, source, mirrors, splitters: [], walls: [], targets: [random.pick(tail)] };
    const empty = (cell) => ![source, ...level.mirrors, ...level.splitters].some(({ at }) => sameCell(at, cell))
      && !hasCell(level.targets, cell) && !hasCell(level.walls, cell);
    const places = random.shuffle(way.concat(tail).filter(empty));
    while (level.targets.length < targets && places.length) {
      const place = places.pop();
      if (empty(place)) level.targets.push(place);
    }
    let made = level.targets.length === targets;
    for (let i = 0; i < splitters && made; i++) made = addSplitter(random, level, way, empty);
    if (!made) continue;
    const lit = traceBeam(level);
    const dark = [];
    for (let cell = 0; cell < size * size; cell++) {
      const place = [cell % size, Math.floor(cell / size)];
      if (empty(place) && !lit.some((step) => sameCell(step, place))) dark.push(place);
    }
    random.shuffle(dark);
    level.walls = dark.splice(0, walls);
    level.mirrors.push(...dark.splice(0, further).map((at) => ({ at, turn: random.below(4) })));
    mirrors.slice(0, count).forEach((mirror) => {
      mirror.turn = (mirror.turn + random.between(1, count > 2 ? 3 : 2)) % 4;
    });
    random.shuffle(level.mirrors);
    if (!litTargets(level).length && !oneMirrorIsEnough(level)) return level;
  }
  throw new RangeError(`option mirrors: no beam over ${count} mirrors was found on a board of ${size}`);
};
