// How Laser Maze Puzzle looks: a red beam over dark steel, mirrors of glass, targets that turn green.
"use strict";

const THEME = {
  glow: 0.9, top: "#33363f", bottom: "#101116", halo: "255, 70, 60", haloStrength: 0.16,
  card: "rgba(255, 255, 255, 0.07)", accent: "#ff5a4d", ink: "#f6f6fa", soft: "#b3b6c4",
};
const BEAM = "#ff2d2d", LIT = "#3dff8f", UNLIT = "#ffb020", FLOOR = "#1b1d24", WALL = "#767b8c";
const GLASS = "#cfe9ff", SPLIT = "#35b8ff";

const drawLaser = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

const middleOf = (board, [column, row]) => [board.x + (column + 0.5) * board.cell, board.y + (row + 0.5) * board.cell];

// A straight line through the middle of a cell at `eighths` of a half turn.
const strokePane = (context, board, at, eighths, reach) => {
  const [x, y] = middleOf(board, at), angle = (eighths * Math.PI) / 4;
  const dx = Math.cos(angle) * reach * board.cell, dy = Math.sin(angle) * reach * board.cell;
  context.beginPath();
  context.moveTo(x - dx, y - dy);
  context.lineTo(x + dx, y + dy);
  context.stroke();
};

// The beam as one path: from the middle of each cell to the middle of the next, or to the wall that stops it.
const beamPath = (board, { steps, size, walls, source }) => {
  const path = new Path2D();
  for (const [column, row, direction] of steps) {
    const [dx, dy] = WAYS[direction], next = [column + dx, row + dy];
    const outside = next.some((place) => place < 0 || place >= size);
    const far = outside || hasCell(walls, next) || sameCell(source.at, next) ? 0.5 : 1;
    path.moveTo(...middleOf(board, [column, row]));
    path.lineTo(...middleOf(board, [column + dx * far, row + dy * far]));
  }
  return path;
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const box = ([column, row], inset, color) => {
    context.fillStyle = color;
    const side = cell - Math.max(1, 2 * inset);
    context.fillRect(board.x + column * cell + inset, board.y + row * cell + inset, side, side);
  };
  context.fillStyle = "#000000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (let place = 0; place < view.size ** 2; place++) {
    box([place % view.size, Math.floor(place / view.size)], 0, FLOOR);
  }
  view.walls.forEach((at) => box(at, 0, WALL));
  view.mirrors.forEach(({ at }) => box(at, 0, "#3c4a70"));
  view.targets.forEach((at) => {
    const bright = hasCell(view.lit, at);
    box(at, Math.round(cell * 0.16), bright ? LIT : UNLIT);
    if (!bright) box(at, Math.round(cell * 0.32), FLOOR);
  });
  context.lineCap = "butt";
  context.strokeStyle = BEAM;
  context.lineWidth = Math.max(1, Math.round(cell / 8));
  context.stroke(beamPath(board, view));
  context.lineWidth = Math.max(2, Math.round(cell / 6));
  context.strokeStyle = "#ffffff";
  view.mirrors.forEach(({ at, turn }) => strokePane(context, board, at, turn, 0.42));
  context.strokeStyle = SPLIT;
  view.splitters.forEach(({ at, turn }) => strokePane(context, board, at, turn, 0.42));
  box(view.source.at, Math.round(cell * 0.1), BEAM);
  const [dx, dy] = WAYS[view.source.direction];
  box([view.source.at[0] + dx * 0.25, view.source.at[1] + dy * 0.25], Math.round(cell * 0.36), "#ffffff");
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board, eased = Kit.easeOut(progress);
  Kit.backdrop(stage, THEME, (still) => drawStill(still, board, view));
  view.targets.forEach((at) => drawTarget(context, board, at, hasCell(view.lit, at), view.won ? eased : 0));
  const beam = beamPath(board, view);
  context.save();
  context.lineCap = context.lineJoin = "round";
  context.globalAlpha = view.last === null ? 1 : 0.25 + 0.75 * eased;
  for (const [width, color] of [[0.3, "rgba(255, 45, 45, 0.12)"], [0.15, "rgba(255, 45, 45, 0.35)"], [0.06, "#ff6a5e"],
    [0.025, "#fff0ee"]]) {
    context.lineWidth = cell * width;
    context.strokeStyle = color;
    context.stroke(beam);
  }
  context.restore();
  view.mirrors.forEach(({ at, turn }, index) => {
    const angle = turn + (index === view.last ? eased - 1 : 0);
    drawPane(context, board, at, angle, GLASS);
  });
  view.splitters.forEach(({ at, turn }) => drawPane(context, board, at, turn, SPLIT));
  drawSource(context, board, view.source);
  Kit.hud(stage, THEME, {
    title: ["Laser Maze", "Puzzle"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Lit", `${view.lit.length}/${view.targets.length}`]],
    hint: "Click a mirror to turn it. Bring the beam to every target. Blue glass splits it.",
    notice: view.won && "All targets lit!",
  });
};

// The still part: the floor with its cells, the walls, the mounts of mirrors and splitters.
const drawStill = (context, board, view) => {
  const { cell } = board, pad = cell * 0.1;
  const tile = ([column, row], inset, fill, round) => {
    context.fillStyle = fill;
    context.beginPath();
    const x = board.x + (column + inset) * cell, y = board.y + (row + inset) * cell, side = (1 - 2 * inset) * cell;
    context.roundRect(x, y, side, side, cell * round);
    context.fill();
  };
  context.fillStyle = "rgba(5, 6, 10, 0.75)";
  context.beginPath();
  context.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.2);
  context.fill();
  for (let place = 0; place < view.size ** 2; place++) {
    tile([place % view.size, Math.floor(place / view.size)], 0.025, "#22252e", 0.1);
  }
  for (const at of view.walls) {
    tile(at, 0.03, "#3d4150", 0.12);
    tile([at[0], at[1] - 0.05], 0.06, "#6d7285", 0.1);
    tile([at[0], at[1] - 0.05], 0.14, "#7b8196", 0.08);
  }
  for (const { at } of [...view.mirrors, ...view.splitters]) {
    const [x, y] = middleOf(board, at);
    context.fillStyle = "rgba(150, 180, 255, 0.12)";
    context.beginPath();
    context.arc(x, y, cell * 0.44, 0, 2 * Math.PI);
    context.fill();
  }
};

const drawPane = (context, board, at, angle, color) => {
  const { cell } = board;
  context.save();
  context.lineCap = "round";
  context.shadowColor = "rgba(0, 0, 0, 0.6)";
  context.shadowBlur = cell * 0.1;
  context.shadowOffsetY = cell * 0.04;
  context.lineWidth = cell * 0.17;
  context.strokeStyle = "#59617a";
  strokePane(context, board, at, angle, 0.36);
  context.shadowColor = "transparent";
  context.lineWidth = cell * 0.1;
  context.strokeStyle = color;
  strokePane(context, board, at, angle, 0.36);
  context.lineWidth = cell * 0.03;
  context.strokeStyle = "#ffffff";
  strokePane(context, board, at, angle, 0.3);
  context.restore();
};

const drawTarget = (context, board, at, bright, won) => {
  const { cell } = board, [x, y] = middleOf(board, at), color = bright ? LIT : UNLIT;
  const ring = (radius, width) => {
    context.lineWidth = cell * width;
    context.beginPath();
    context.arc(x, y, cell * radius, 0, 2 * Math.PI);
    context.stroke();
  };
  context.save();
  context.strokeStyle = context.fillStyle = color;
  if (bright) {
    context.shadowColor = color;
    context.shadowBlur = cell * (0.3 + 0.4 * won);
  }
  ring(0.31, 0.07);
  if (won) ring(0.31 + 0.13 * won, 0.03);
  context.globalAlpha = bright ? 0.95 : 0.5;
  context.beginPath();
  context.arc(x, y, cell * (bright ? 0.2 : 0.1), 0, 2 * Math.PI);
  context.fill();
  context.restore();
};

// The laser: a round body whose barrel points where the beam goes.
const drawSource = (context, board, { at, direction }) => {
  const { cell } = board, [x, y] = middleOf(board, at);
  context.save();
  context.translate(x, y);
  context.rotate(((direction - 1) * Math.PI) / 2);
  context.shadowColor = "rgba(255, 45, 45, 0.7)";
  context.shadowBlur = cell * 0.25;
  context.fillStyle = "#c21d24";
  context.beginPath();
  context.roundRect(-cell * 0.38, -cell * 0.28, cell * 0.62, cell * 0.56, cell * 0.16);
  context.roundRect(cell * 0.1, -cell * 0.15, cell * 0.34, cell * 0.3, cell * 0.06);
  context.fill();
  context.shadowColor = "transparent";
  context.fillStyle = "#ff8a80";
  context.beginPath();
  context.arc(-cell * 0.08, 0, cell * 0.13, 0, 2 * Math.PI);
  context.fill();
  context.restore();
};
