// The colour that spreads farthest, two moves ahead: the limit of moves was counted on this play.
"use strict";

window.reference = ({ cells }) => {
  const field = fieldOf(cells), own = cells[field[0][1]][field[0][0]];
  const firsts = new Map(); // colour -> the first cell that has it, in reading order
  cells.forEach((line, row) => line.forEach((color, column) => {
    if (color !== own && !firsts.has(color)) firsts.set(color, [column, row]);
  }));
  const move = ([color, [column, row]]) => ({
    thought: `${field.length} joined, color ${color}, click ${column} ${row}`, click: [column, row],
  });
  const legal = [...firsts], best = bestColor(cells);
  return { good: legal.filter(([color]) => color === best).map(move), legal: legal.map(move) };
};
