// The next number in order.
"use strict";

window.reference = ({ cells, total, taken }) => {
  const places = [];
  cells.forEach((line, row) => line.forEach((number, column) => number && places.push([number, column, row])));
  const move = ([number, column, row]) => ({
    thought: `${total - taken} left, take ${number}, click ${column} ${row}`, click: [column, row],
  });
  const next = inOrder(total)[taken];
  return { good: places.filter(([number]) => number === next).map(move), legal: places.map(move) };
};
