// How Infinity-Loop looks: one thick line of one soft colour; the colour goes round with the level.
"use strict";

// [ground above, ground below, card, line] of levels 1, 2, ..., and round again
const SCHEMES = [
  ["#123c44", "#0b252e", "#184a53", "#7fe3d0"], ["#1f2f56", "#131c38", "#2a3c69", "#8fc1ff"],
  ["#3b2452", "#231433", "#4a2f66", "#d8a7ff"], ["#4b2138", "#2d1221", "#5e2c47", "#ff9fbf"],
  ["#4a2c1c", "#2c190f", "#5e3a26", "#ffbd8a"], ["#2c3d1c", "#19250f", "#3a4f27", "#c5e67f"],
];
const WON = "#ffd95e";

const drawLoop = (stage, progress, view) => {
  const [top, bottom, card, line] = SCHEMES[(view.level - 1) % SCHEMES.length];
  if (stage.layout.mode === "compact") drawFlat(stage, view, bottom, card, line);
  else drawSoft(stage, progress, view, { top, bottom, card, line });
};

// The line of a tile around the origin, in cells: arcs between neighbouring sides, a straight, or an end with a ring.
const tracePath = (context, tile) => {
  const sides = [0, 1, 2, 3].filter((bit) => tile & (1 << bit));
  const edge = (bit) => [[0, -0.5], [0.5, 0], [0, 0.5], [-0.5, 0]][bit];
  context.beginPath();
  if (sides.length === 1) {
    const [x, y] = edge(sides[0]);
    context.moveTo(x, y);
    context.lineTo(x * 0.44, y * 0.44);
    context.moveTo(0.22, 0);
    context.arc(0, 0, 0.22, 0, 2 * Math.PI);
  } else if (sides.length === 2 && (sides[1] - sides[0]) === 2) {
    context.moveTo(...edge(sides[0]));
    context.lineTo(...edge(sides[1]));
  } else {
    for (const bit of sides) {
      const next = (bit + 1) % 4;
      if (!sides.includes(next)) continue;
      const [ax, ay] = edge(bit), [bx, by] = edge(next);
      const begin = (bit * Math.PI) / 2 + Math.PI / 2;
      context.moveTo(bx, by);
      context.arc(ax + bx, ay + by, 0.5, begin, begin + Math.PI / 2);
    }
  }
};

const strokeTiles = (context, board, view, width, angleOf) => {
  context.lineCap = "butt";
  view.tiles.forEach((line, row) => line.forEach((tile, column) => {
    if (!tile) return;
    context.save();
    context.translate(board.x + (column + 0.5) * board.cell, board.y + (row + 0.5) * board.cell);
    context.rotate(angleOf(column, row));
    context.scale(board.cell, board.cell);
    tracePath(context, tile);
    context.lineWidth = width;
    context.stroke();
    context.restore();
  }));
};

const drawFlat = ({ context, canvas, layout: { board } }, view, ground, card, line) => {
  context.fillStyle = ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = card;
  for (let place = 0; place < view.size * view.size; place++) {
    const column = place % view.size, row = Math.floor(place / view.size);
    context.fillRect(board.x + column * board.cell, board.y + row * board.cell, board.cell - 1, board.cell - 1);
  }
  context.strokeStyle = view.open ? line : WON;
  strokeTiles(context, board, view, 0.2, () => 0);
};

const drawSoft = (stage, progress, view, { top, bottom, card, line }) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  const theme = {
    glow: 0.9, top, bottom, halo: "255, 255, 255", haloStrength: 0.1, card: "rgba(255, 255, 255, 0.08)",
    accent: view.open ? line : WON, ink: "#ffffff", soft: "rgba(255, 255, 255, 0.66)",
  };
  Kit.backdrop(stage, theme, (still) => {
    still.fillStyle = card;
    for (let place = 0; place < view.size * view.size; place++) {
      const x = board.x + (place % view.size) * cell, y = board.y + Math.floor(place / view.size) * cell;
      still.beginPath();
      still.roundRect(x + cell * 0.025, y + cell * 0.025, cell * 0.95, cell * 0.95, cell * 0.16);
      still.fill();
    }
  });
  const eased = Kit.easeOut(progress);
  const angleOf = (column, row) =>
    view.last && view.last[0] === column && view.last[1] === row ? (eased - 1) * (Math.PI / 2) : 0;
  const won = view.open === 0;
  if (won) {
    context.save();
    context.globalAlpha = 0.5 * eased;
    context.shadowColor = context.strokeStyle = WON;
    context.shadowBlur = cell * 0.4;
    strokeTiles(context, board, view, 0.17 + 0.09 * eased, angleOf);
    context.restore();
  }
  context.strokeStyle = won ? WON : line;
  strokeTiles(context, board, view, 0.15, angleOf);
  Kit.hud(stage, theme, {
    title: ["Infinity", "Loop"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Open", view.open]],
    hint: "Click a tile to turn it by a quarter. Leave no line open.",
    notice: won && "All lines closed!",
  });
};
