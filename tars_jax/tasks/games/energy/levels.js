// Levels of Energy: wires grow from the sources like branches and end in lamps, so every lamp can be lit; then some
// tiles are turned.
"use strict";

// [size, sources, percent of the places filled, percent of the tiles fixed, tiles turned] of levels 1, 2, ...; the last
// one stands for all that follow
const LEVELS = Kit.fixed([
  [3, 1, 60, 0, 2], [3, 1, 90, 0, 4], [4, 1, 75, 0, 8], [4, 1, 95, 0, 13],
  [5, 2, 85, 8, 20], [6, 2, 90, 10, 30], [7, 3, 92, 12, 42], [8, 3, 95, 12, 60],
]);

// Wires without loops, at most three at a tile: places[row][column] is null, or {source, wires}.
const growWires = (random, size, sources, wanted) => {
  const places = Array.from({ length: size }, () => Array(size).fill(null));
  const tips = random.shuffle(Array.from({ length: size * size }, (_, place) => place)).slice(0, sources)
    .map((place) => [place % size, Math.floor(place / size)]);
  tips.forEach(([column, row]) => (places[row][column] = { source: true, wires: 0 }));
  for (let filled = sources; filled < wanted && tips.length;) {
    const at = random.next() < 0.5 ? tips.length - 1 : random.below(tips.length);
    const [column, row] = tips[at], { wires } = places[row][column];
    const ways = SIDES.flatMap((side, bit) => {
      const [dx, dy] = Kit.DIRECTIONS[side];
      return places[row + dy]?.[column + dx] === null ? [[bit, column + dx, row + dy]] : [];
    });
    if (!ways.length || [7, 11, 13, 14].includes(wires)) {
      tips.splice(at, 1);
      continue;
    }
    const [bit, x, y] = random.pick(ways);
    places[row][column].wires |= 1 << bit;
    places[y][x] = { source: false, wires: 1 << ((bit + 2) % 4) };
    tips.push([x, y]);
    filled += 1;
  }
  return places;
};

const kindOf = (place) => {
  if (!place) return "empty";
  if (place.source) return "source";
  return [1, 2, 4, 8].includes(place.wires) ? "lamp" : "wire";
};

// Tiles of which `scrambled` (fewer if fewer can turn) stand wrong, with at least one lamp dark.
const makeLevel = (random, { size, sources, filled, fixed, scrambled }) => {
  for (let attempt = 0; attempt < 400; attempt++) {
    const places = growWires(random, size, sources, Math.round((size * size * filled) / 100));
    const tiles = places.map((line) => line.map((place) => ({
      kind: kindOf(place), wires: place?.wires ?? 0, fixed: place !== null && random.next() * 100 < fixed,
    })));
    if (tiles.flat().some(({ kind, wires }) => kind === "source" && !wires)) continue;
    for (const tile of random.shuffle(tiles.flat().filter(canTurn)).slice(0, scrambled)) {
      const others = [1, 2, 3].map((times) => turned(tile.wires, times)).filter((wires) => wires !== tile.wires);
      tile.wires = random.pick(others);
    }
    const { lit, lamps } = countLamps(tiles);
    if (lit < lamps) return tiles;
  }
  throw new RangeError(`option sources: no wires grew from ${sources} of them on ${size} by ${size} places`);
};
