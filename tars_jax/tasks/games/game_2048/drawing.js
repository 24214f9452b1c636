// How 2048 looks: evening colours that warm up and cool down again as the numbers grow.
"use strict";

const THEME = {
  glow: 0, top: "#fff4e8", bottom: "#f6d9d0", halo: "255, 255, 255", haloStrength: 0.8, card: "rgba(120, 74, 92, 0.12)",
  accent: "#d9478f", ink: "#5b3a4a", soft: "#8d6878",
};
const FRAME = "#b797a0", SLOT = "#ceb3b6";
const COLORS = [
  "#fff8ee", "#ffe5bd", "#ffc27f", "#ff9d62", "#fb7654", "#ef4d63",
  "#d63f92", "#a545bb", "#7450d6", "#4468df", "#1795cf", "#0fa98a",
];

const colorOf = (value) => COLORS[Math.min(COLORS.length, Math.log2(value)) - 1];
const inkOf = (value) => (value < 16 ? THEME.ink : "#ffffff");

const drawBoard = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  context.fillStyle = view.won ? "#ffffff" : view.lost ? "#2c1c24" : FRAME;
  context.fillRect(0, 0, canvas.width, canvas.height);
  view.tiles.forEach((line, row) => line.forEach((value, column) => {
    const x = board.x + column * cell, y = board.y + row * cell;
    context.fillStyle = value ? colorOf(value) : SLOT;
    context.fillRect(x + 1, y + 1, cell - 2, cell - 2);
    if (value) Kit.digits(context, value, x + cell / 2, y + cell / 2, cell - 4, inkOf(value));
  }));
};

const drawTile = (context, board, [column, row], value, scale) => {
  const { cell } = board;
  const side = cell * 0.88 * scale;
  const x = board.x + (column + 0.5) * cell, y = board.y + (row + 0.5) * cell;
  context.fillStyle = colorOf(value);
  if (value >= 128) {
    context.shadowColor = colorOf(value);
    context.shadowBlur = cell * 0.22;
  }
  context.beginPath();
  context.roundRect(x - side / 2, y - side / 2, side, side, side * 0.16);
  context.fill();
  context.shadowBlur = 0;
  const size = side * [0.42, 0.4, 0.33, 0.26, 0.22][String(value).length - 1];
  Kit.text(context, String(value), x, y - size / 2, size, inkOf(value), { align: "center", weight: 0.18 });
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  const pad = Math.round(cell * 0.08);
  Kit.backdrop(stage, THEME, (still) => {
    still.fillStyle = FRAME;
    still.beginPath();
    still.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.2);
    still.fill();
    still.fillStyle = SLOT;
    for (let place = 0; place < SIDE * SIDE; place++) {
      const x = board.x + (place % SIDE) * cell, y = board.y + Math.floor(place / SIDE) * cell;
      still.beginPath();
      still.roundRect(x + cell * 0.06, y + cell * 0.06, cell * 0.88, cell * 0.88, cell * 0.14);
      still.fill();
    }
    if (stage.layout.mode === "wide") drawChevrons(still, board, pad);
  });
  if (view.won) drawHalo(context, board, pad, progress);
  const sliding = Kit.easeOut(Math.min(1, progress / 0.6)), settling = Math.max(0, (progress - 0.6) / 0.4);
  if (settling < 1 && progress < 0.6 && view.slides.length) {
    view.slides.forEach(({ from, to, value }) =>
      drawTile(context, board, from.map((start, i) => start + (to[i] - start) * sliding), value, 1));
  } else {
    const merged = new Set(view.slides.filter((one) => one.merged).map(({ to }) => `${to}`));
    view.tiles.forEach((line, row) => line.forEach((value, column) => {
      if (!value) return;
      const fresh = view.spawned[0] === column && view.spawned[1] === row;
      const swell = merged.has(`${[column, row]}`) ? 1 + 0.1 * Math.sin(Math.PI * settling) : 1;
      drawTile(context, board, [column, row], value, fresh ? Math.max(0.1, settling) : swell);
    }));
  }
  if (view.lost) {
    context.fillStyle = "rgba(60, 34, 48, 0.55)";
    context.beginPath();
    context.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.2);
    context.fill();
  }
  Kit.hud(stage, THEME, {
    title: ["2048", `Reach ${view.target}`],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Score", view.score]],
    hint: "Arrow keys, a drag, or a click near a side slide all tiles. Two of a kind become one.",
    notice: (view.won && `${view.target}! Well done`) || (view.lost && "No moves left"),
  });
};

// Small arrows outside the board: a click near that side slides there.
const drawChevrons = (context, board, pad) => {
  const size = board.cell * 0.07, away = board.width / 2 + pad + board.cell * 0.19;
  context.strokeStyle = THEME.soft;
  context.lineWidth = board.cell * 0.035;
  context.lineCap = context.lineJoin = "round";
  for (const [dx, dy] of Object.values(Kit.DIRECTIONS)) {
    const x = board.x + board.width / 2 + dx * away, y = board.y + board.height / 2 + dy * away;
    context.beginPath();
    context.moveTo(x - dx * size * 0.5 - dy * size, y - dy * size * 0.5 - dx * size);
    context.lineTo(x + dx * size * 0.5, y + dy * size * 0.5);
    context.lineTo(x - dx * size * 0.5 + dy * size, y - dy * size * 0.5 + dx * size);
    context.stroke();
  }
};

// The win: a ring of light that opens around the board and stays.
const drawHalo = (context, board, pad, progress) => {
  const open = Kit.easeOut(progress), wide = pad * (1 + 0.8 * open);
  context.save();
  context.strokeStyle = "#ffffff";
  context.shadowColor = THEME.accent;
  context.shadowBlur = board.cell * 0.35 * open;
  context.lineWidth = board.cell * 0.05;
  context.beginPath();
  const corner = board.cell * 0.2 + wide - pad;
  context.roundRect(board.x - wide, board.y - wide, board.width + 2 * wide, board.height + 2 * wide, corner);
  context.stroke();
  context.restore();
};
