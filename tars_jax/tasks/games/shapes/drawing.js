// How Shapes looks: toy blocks of one piece each, a pressed-in outline on mint paper, a tray below.
"use strict";

const THEME = {
  glow: 0, top: "#eef8f1", bottom: "#c9e3db", halo: "255, 255, 255", haloStrength: 0.9, card: "rgba(35, 92, 86, 0.1)",
  accent: "#e0563f", ink: "#1f4a48", soft: "#4d7a75",
};
const HOLE = "#a9cdc4", FLAT_GROUND = "#22373b", FLAT_TRAY = "#10191c", FLAT_HOLE = "#dfeee6";
const PIECE_COLORS = [
  "#ef5b4c", "#f59a2f", "#f2c53a", "#8dc63f", "#2fa866", "#1fb5b0", "#3d9be9",
  "#4362d8", "#7d55d9", "#b04fc9", "#ec6aa9", "#a8623c", "#7c8c2e", "#c2264f",
];

const drawShapes = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// Where the first cell of a piece is seen, in cells: at rest, on its way from `last`, or under the pointer.
const seenAt = (view, index, eased) => {
  const rest = whereItLies(view.pieces[index]);
  if (view.carried?.index === index) return rest.map((start, i) => start + view.carried.by[i]);
  if (view.last?.index !== index) return rest;
  return rest.map((to, i) => view.last.from[i] + (to - view.last.from[i]) * eased);
};

// Pieces in the order of drawing: the one in hand or on its way lies above the others.
const drawingOrder = (view) => {
  const above = (index) => Number([view.carried?.index, view.selected?.index, view.last?.index].includes(index));
  return view.pieces.map((_, index) => index).sort((a, b) => above(a) - above(b));
};

// The body of some cells as one path, in cells: every cell with round corners, joined where cells are side by side.
const bodyOf = (cells, gap, round) => {
  const path = new Path2D();
  for (const [x, y] of cells) {
    path.roundRect(x + gap, y + gap, 1 - 2 * gap, 1 - 2 * gap, round);
    const right = hasCell(cells, [x + 1, y]), below = hasCell(cells, [x, y + 1]);
    if (right) path.rect(x + 0.5, y + gap, 1, 1 - 2 * gap);
    if (below) path.rect(x + gap, y + 0.5, 1 - 2 * gap, 1);
    if (right && below && hasCell(cells, [x + 1, y + 1])) path.rect(x + 0.5, y + 0.5, 1, 1);
  }
  return path;
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const fill = (color) => {
    context.fillStyle = color;
    return (x, y, w, h) => context.fillRect(board.x + Math.round(x * cell), board.y + Math.round(y * cell), w, h);
  };
  context.fillStyle = FLAT_GROUND;
  context.fillRect(0, 0, canvas.width, canvas.height);
  fill(FLAT_TRAY)(0, view.top, board.width, (view.size - view.top) * cell);
  const hole = fill(view.won ? "#ffffff" : FLAT_HOLE);
  view.outline.forEach(([x, y]) => hole(x, y, cell - 1, cell - 1));
  for (const index of drawingOrder(view)) {
    const { cells, color } = view.pieces[index], [column, row] = seenAt(view, index, 1);
    const paint = fill(PIECE_COLORS[color]);
    for (const [x, y] of cells) {
      const wide = hasCell(cells, [x + 1, y]) ? cell : cell - 1, high = hasCell(cells, [x, y + 1]) ? cell : cell - 1;
      paint(column + x, row + y, wide, high);
    }
    if (view.selected?.index !== index) continue;
    const mark = fill("#ffffff"), side = Math.max(2, Math.round(cell * 0.35)), inset = (1 - side / cell) / 2;
    cells.forEach(([x, y]) => mark(column + x + inset, row + y + inset, side, side));
  }
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  const eased = Kit.easeOut(progress);
  Kit.backdrop(stage, THEME, (still) => {
    drawTray(still, board, view);
    drawHole(still, board, view);
  });
  for (const index of drawingOrder(view)) {
    const piece = view.pieces[index], held = view.carried?.index === index, chosen = view.selected?.index === index;
    const moving = view.last?.index === index ? 1 - eased : 0;
    const lift = held ? 1 : chosen ? eased : moving;
    drawPiece(context, board, piece, seenAt(view, index, eased), lift, chosen ? eased : 0);
  }
  if (view.won) drawShine(context, board, view, eased);
  Kit.hud(stage, THEME, {
    title: ["Shapes", "Fit them all"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Open", view.open]],
    hint: "Drag the pieces into the outline, or click a piece and then its place. Leave no gap.",
    notice: view.won && "A perfect fit!",
  });
};

const drawTray = (context, board, { top, size }) => {
  const { cell } = board, inset = cell * 0.06, pad = cell * 0.12;
  context.fillStyle = "rgba(255, 255, 255, 0.55)";
  context.shadowColor = "rgba(31, 74, 72, 0.18)";
  context.shadowBlur = cell * 0.25;
  context.shadowOffsetY = cell * 0.06;
  context.beginPath();
  const height = (size - top) * cell - inset + pad;
  context.roundRect(board.x - pad, board.y + top * cell + inset, board.width + 2 * pad, height, cell * 0.28);
  context.fill();
  context.shadowColor = "transparent";
  context.shadowBlur = context.shadowOffsetY = 0;
};

// The outline as a hole: a light lower rim, the floor, a shadow of the upper edge, faint cells.
const drawHole = (context, board, { outline }) => {
  const { cell } = board, hole = bodyOf(outline, -0.045, 0.2);
  const place = (dy) => context.setTransform(cell, 0, 0, cell, board.x, board.y + dy * cell);
  context.save();
  place(0.05);
  context.fillStyle = "rgba(255, 255, 255, 0.9)";
  context.fill(hole);
  place(0);
  context.fillStyle = "#86b3a9";
  context.fill(hole);
  context.clip(hole);
  place(0.06);
  context.fillStyle = HOLE;
  context.fill(hole);
  place(0);
  context.fillStyle = "rgba(255, 255, 255, 0.16)";
  context.beginPath();
  outline.forEach(([x, y]) => context.roundRect(x + 0.06, y + 0.08, 0.88, 0.88, 0.14));
  context.fill();
  context.restore();
};

// A piece as a block: its shadow, its side, its face with a light from above, and a white rim while it is chosen.
const drawPiece = (context, board, piece, [column, row], lift, rim) => {
  const { cell } = board, body = bodyOf(piece.cells, 0.035, 0.2), color = PIECE_COLORS[piece.color];
  const depth = 0.085, tallest = Math.max(...piece.cells.map(([, y]) => y)) + 1;
  const place = (dy) => context.setTransform(cell, 0, 0, cell, board.x + column * cell, board.y + (row + dy) * cell);
  context.save();
  place(-0.08 * lift);
  context.fillStyle = color;
  context.shadowColor = "rgba(18, 58, 60, 0.4)";
  context.shadowBlur = cell * (0.1 + 0.28 * lift);
  context.shadowOffsetY = cell * (0.05 + 0.16 * lift);
  context.fill(body);
  context.shadowColor = "transparent";
  context.fillStyle = "rgba(0, 0, 0, 0.26)";
  context.fill(body);
  context.clip(body);
  place(-0.08 * lift - depth);
  context.fillStyle = color;
  context.fill(body);
  const light = context.createLinearGradient(0, 0, 0, tallest);
  light.addColorStop(0, "rgba(255, 255, 255, 0.34)");
  light.addColorStop(1, "rgba(255, 255, 255, 0)");
  context.fillStyle = light;
  context.fill(body);
  if (rim) {
    place(-0.08 * lift);
    context.strokeStyle = `rgba(255, 255, 255, ${0.95 * rim})`;
    context.lineWidth = 0.13;
    context.globalCompositeOperation = "source-atop";
    strokeRim(context, piece.cells);
  }
  context.restore();
};

// The rim of some cells: the edges that no other cell shares.
const strokeRim = (context, cells) => {
  context.lineCap = "square";
  context.beginPath();
  for (const [x, y] of cells) {
    for (const [dx, dy] of STEPS) {
      if (hasCell(cells, [x + dx, y + dy])) continue;
      const [mx, my] = [x + 0.5 + 0.45 * dx, y + 0.5 + 0.45 * dy];
      context.moveTo(mx - 0.45 * Math.abs(dy), my - 0.45 * Math.abs(dx));
      context.lineTo(mx + 0.45 * Math.abs(dy), my + 0.45 * Math.abs(dx));
    }
  }
  context.stroke();
};

// The win: light that opens around the filled outline and stays.
const drawShine = (context, board, { outline }, eased) => {
  const { cell } = board;
  context.save();
  context.setTransform(cell, 0, 0, cell, board.x, board.y);
  context.strokeStyle = `rgba(255, 255, 255, ${0.9 * eased})`;
  context.shadowColor = THEME.accent;
  context.shadowBlur = cell * 0.5 * eased;
  context.lineWidth = 0.09;
  context.lineCap = "round";
  context.beginPath();
  for (const [x, y] of outline) {
    for (const [dx, dy] of STEPS) {
      if (hasCell(outline, [x + dx, y + dy])) continue;
      const [mx, my] = [x + 0.5 + 0.5 * dx, y + 0.5 + 0.5 * dy];
      context.moveTo(mx - 0.5 * Math.abs(dy), my - 0.5 * Math.abs(dx));
      context.lineTo(mx + 0.5 * Math.abs(dy), my + 0.5 * Math.abs(dx));
    }
  }
  context.stroke();
  context.restore();
};
