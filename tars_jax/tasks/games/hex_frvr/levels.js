// Levels of Hex FRVR: a board with some hexagons on it, and an endless row of pieces. Both come from the seed alone,
// and a simple player has cleared the lines that the level wants, so each level can be won.
"use strict";

// [hexagons on a side, set of pieces, percent of the board taken, lines to clear] of levels 1, 2, ...; the last one
// stands for all that follow
const LEVELS = Kit.fixed([
  [3, "small", 40, 1], [3, "small", 35, 4], [4, "large", 35, 10], [4, "large", 35, 13],
  [4, "large", 35, 18], [5, "large", 40, 17], [5, "large", 40, 22], [5, "large", 40, 32],
]);

// pieces(k) is the piece that comes as number k, whatever was done with those before it.
const endlessPieces = (random, set) => {
  const drawn = [];
  return (k) => {
    while (drawn.length <= k) {
      const shape = random.pick(SETS[set]);
      drawn.push({ shape, places: random.pick(SHAPES[shape]) });
    }
    return drawn[k];
  };
};

// How bad a board is: what lies on it, and how ragged the free places are.
const raggedness = (board, held) => board.places.reduce((sum, _, place) => {
  if (held[place] !== null) return sum + 2;
  return sum + board.near[place].filter((other) => other < 0 || held[other] !== null).length;
}, 0);

// Whether a player that looks one piece ahead clears `lines` lines.
const canBeWon = (board, held, pieces, lines) => {
  const tray = Array.from({ length: TRAY }, (_, slot) => pieces(slot));
  for (let next = TRAY, cleared = 0; cleared < lines; next++) {
    let best = null;
    tray.forEach((piece, slot) => fitsOf(board, held, piece).forEach((way) => {
      const after = laid(board, held, piece.shape, way), cost = raggedness(board, after.held) - 12 * after.lines;
      if (!best || cost < best.cost) best = { ...after, cost, slot };
    }));
    if (!best) return false;
    held = best.held;
    cleared += best.lines;
    tray[best.slot] = pieces(next);
  }
  return true;
};

// {board, held, pieces} that can be won.
const makeLevel = (name, seed, level, { side, set, taken, lines }) => {
  const board = makeBoard(side);
  for (let attempt = 0; attempt < 60; attempt++) {
    const random = Kit.random(name, seed, level, attempt);
    const places = random.shuffle([...board.places.keys()]).slice(0, Math.round((board.places.length * taken) / 100));
    const held = board.places.map((_, place) => (places.includes(place) ? "stone" : null));
    const pieces = endlessPieces(random, set);
    const begun = board.lines.some((line) => line.every((place) => held[place] !== null));
    if (!begun && canBeWon(board, held, pieces, lines)) return { board, held, pieces };
  }
  throw new RangeError(`option taken: no board with ${taken} percent taken was won; ${lines} lines may be too many`);
};
