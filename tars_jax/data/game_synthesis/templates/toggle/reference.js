// Clicks that are left, the first in reading order: every other click only adds to them.
"use strict";

window.reference = ({ size, lit, to_press: left }) => {
  const places = Array.from({ length: size * size }, (_, place) => [place % size, Math.floor(place / size)]);
  const move = ([column, row]) => ({
    thought: `${lit.flat().filter(Boolean).length} lit, click ${column} ${row}`, click: [column, row],
  });
  return { good: places.filter(([column, row]) => left[row][column]).slice(0, 1).map(move), legal: places.map(move) };
};
