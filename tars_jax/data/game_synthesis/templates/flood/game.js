// Flood: the field that begins in PARAMETERS.corner takes the clicked colour. One colour everywhere, in few moves.
"use strict";

// Cells joined to the corner in its colour, as [column, row].
const fieldOf = (cells) => {
  const size = cells.length, [x, y] = PARAMETERS.corner.map((side) => side * (size - 1));
  const seen = new Set([y * size + x]), field = [[x, y]];
  for (const [column, row] of field) {
    for (const [dx, dy] of Object.values(Kit.DIRECTIONS)) {
      const place = (row + dy) * size + column + dx;
      const joined = cells[row + dy]?.[column + dx] === cells[y][x];
      if (joined && !seen.has(place)) {
        seen.add(place);
        field.push([column + dx, row + dy]);
      }
    }
  }
  return field;
};

const flooded = (cells, color) => {
  const next = cells.map((line) => [...line]);
  fieldOf(cells).forEach(([column, row]) => { next[row][column] = color; });
  return next;
};

// The colour that makes the field largest, looking two moves ahead; the lower number where two are equal.
const bestColor = (cells) => {
  const colors = [...new Set(cells.flat())].sort((a, b) => a - b);
  const [x, y] = PARAMETERS.corner.map((side) => side * (cells.length - 1));
  const others = colors.filter((color) => color !== cells[y][x]);
  const worth = (color) => {
    const once = flooded(cells, color), size = fieldOf(once).length;
    const twice = colors.map((next) => fieldOf(flooded(once, next)).length);
    return size === cells.length ** 2 ? Infinity : Math.max(...twice) + size / 1000;
  };
  return others.reduce((best, color) => (worth(color) > worth(best) ? color : best), others[0]);
};

const game = (() => {
  // [size, colours, moves beyond the reference player's] of levels 1, 2, ...
  const LEVELS = [[3, 3, 1], [4, 3, 1], [4, 4, 0], [5, 4, 0], [6, 4, 0], [7, 5, 0], [8, 5, 0], [9, 5, 0]];
  let level, size, cells, begun, best, moves, limit;

  const won = () => fieldOf(cells).length === size * size;
  const over = () => won() || moves >= limit;

  const start = (options) => {
    level = Kit.integer(options, "level", 1, 1, 1e6);
    const seed = Kit.integer(options, "seed", 0, 0, Number.MAX_SAFE_INTEGER);
    const random = Kit.random("flood", seed, level);
    let colors, more;
    [size, colors, more] = LEVELS[Math.min(level, LEVELS.length) - 1];
    do {
      cells = Array.from({ length: size }, () => Array.from({ length: size }, () => random.below(colors)));
    } while (won());
    begun = best = fieldOf(cells).length;
    moves = 0;
    limit = more;
    for (let ahead = cells; fieldOf(ahead).length < size * size; limit++) ahead = flooded(ahead, bestColor(ahead));
    stage.reset();
  };

  const tap = (x, y) => {
    const cell = cells && !over() && Kit.cellAt(stage.layout.board, x, y);
    if (!cell) return;
    const color = cells[cell[1]][cell[0]], [column, row] = fieldOf(cells)[0];
    if (color === cells[row][column]) return;
    cells = flooded(cells, color);
    moves += 1;
    best = Math.max(best, fieldOf(cells).length);
    stage.animate();
  };

  const stage = Kit.stage({
    tween_ms: 90, grid: () => [size, size], tap, key: () => {}, swipe: () => {},
    draw: (theStage) => Scene.draw(theStage, {
      columns: size, rows: size, joined: true, color: (column, row) => THEME.colors[cells[row][column]],
      numbers: [["Level", level], ["Moves", `${moves} of ${limit}`], ["Field", fieldOf(cells).length]],
      mark: fieldOf(cells)[0], notice: won() ? "One colour!" : over() && "No moves left",
    }),
  });

  const state = () => ({
    game: PARAMETERS.name, level, size, moves, limit, cells: cells.map((line) => [...line]),
    score: best - begun, lives: won() || !over() ? 1 : 0, done: over(), success: won(), ...stage.geometry(),
  });

  return { start, state, canvas: stage.canvas };
})();
