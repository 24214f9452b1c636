// The verifier: what counts, worked out from the cells of the walls, the fruits, the exit and the snake alone.
"use strict";

window.verify = () => {
  const { size, walls, fruits, exit, body, total_fruits: total, level } = game.state();
  const [column, row] = body[0];
  const at = (cells, x, y) => cells.some((cell) => cell[0] === x && cell[1] === y);
  const success = fruits.length === 0 && at([exit], column, row);
  const stuck = !success && [[0, -1], [1, 0], [0, 1], [-1, 0]].every(([dx, dy]) => {
    const x = column + dx, y = row + dy;
    const outside = x < 0 || y < 0 || x >= size || y >= size;
    return outside || at(walls, x, y) || at(body.slice(0, -1), x, y) || (fruits.length > 0 && at([exit], x, y));
  });
  const score = total - fruits.length + (success ? 1 : 0);
  return { score, level, lives: stuck ? 0 : 1, done: success || stuck, success };
};
