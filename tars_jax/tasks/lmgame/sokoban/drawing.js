// How Sokoban looks: a warehouse of warm wood on cool stone.
"use strict";

const THEME = {
  glow: 0, top: "#22313f", bottom: "#10202b", halo: "120, 190, 210", haloStrength: 0.18, card: "rgba(255, 255, 255, 0.07)",
  accent: "#ffb454", ink: "#f3efe4", soft: "#9fb3bd",
};
const WALL = "#52646f", WALL_TOP = "#6c808c", FLOOR = "#d9cfb8", TARGET = "#d6455d", WORKER = "#2f7fd6", EYE = "#ffffff";
const BOX = { floor: ["#a8692f", "#c98a49"], target: ["#2f8f57", "#4fbf7d"] };

const drawBoard = (stage, progress, view) => {
  const { context, canvas, layout: { mode, board } } = stage;
  const { cell } = board, soft = mode !== "compact", { level, before } = view;
  if (soft) {
    Kit.backdrop(stage, THEME);
  } else {
    context.fillStyle = "#0d1a22";
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  const at = (row, column) => [board.x + column * cell, board.y + row * cell];
  const inset = (row, column, part, colour, round) => {
    const [x, y] = at(row, column), gap = (cell * (1 - part)) / 2;
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(x + gap, y + gap, cell * part, cell * part, round * cell);
    context.fill();
  };
  for (let row = 0; row < level.rows; row++) {
    for (let column = 0; column < level.columns; column++) {
      const place = `${row},${column}`, [x, y] = at(row, column), wall = level.walls.has(place);
      context.fillStyle = wall ? WALL : FLOOR;
      context.fillRect(x, y, cell, cell);
      if (wall && soft) inset(row, column, 0.86, WALL_TOP, 0.12);
      if (level.targets.has(place)) inset(row, column, 0.4, TARGET, 0.2);
    }
  }
  const part = view.level === before ? 1 : Kit.easeOut(progress);
  const between = (from, to) => from.map((start, i) => start + (to[i] - start) * part);
  const [rowMoved, columnMoved] = [0, 1].map((i) => level.worker[i] - before.worker[i]);
  for (const place of level.boxes) {
    const to = place.split(",").map(Number), pushed = !before.boxes.has(place);
    const [row, column] = pushed ? between([to[0] - rowMoved, to[1] - columnMoved], to) : to;
    const [dark, light] = level.targets.has(place) ? BOX.target : BOX.floor;
    inset(row, column, 0.84, dark, 0.1);
    inset(row, column, 0.6, light, 0.06);
  }
  const [row, column] = between(before.worker, level.worker);
  inset(row, column, 0.7, WORKER, 0.35);
  const [across, down] = Kit.DIRECTIONS[view.faced], [x, y] = at(row + 0.5, column + 0.5);
  context.fillStyle = EYE;
  context.beginPath();
  context.arc(x + across * cell * 0.16, y + down * cell * 0.16, cell * 0.1, 0, 2 * Math.PI);
  context.fill();
  if (!soft) return;
  Kit.hud(stage, THEME, {
    title: ["Sokoban", `Level ${view.index + 1} of ${view.levels}`],
    numbers: [["Moves", view.moves], ["Boxes", view.score]],
    hint: "Push every box onto a red spot. Arrow keys, a swipe, or a click towards which to go.",
    notice: view.won && "All boxes are home",
  });
};
