// How Gem 11 looks: cut stones on dark green velvet, each number with a cut and a colour of its own.
"use strict";

const THEME = {
  glow: 0.8, top: "#12403a", bottom: "#071d1c", halo: "120, 230, 190", haloStrength: 0.14,
  card: "rgba(255, 255, 255, 0.07)", accent: "#ffd479", ink: "#f3fff8", soft: "#93bfb1",
};
const BOX = "#0b2b29", BED = "#16413c", WON = "#ffffff", LOST = "#000000";

// [light, dark, corners] of the gems 1, 2, ...; and round again
const STONES = [
  ["#9fe3ff", "#2f8fd0", 6], ["#a8f0b4", "#1f9e58", 4], ["#ffe08a", "#d9940f", 8], ["#ffb199", "#e0482e", 5],
  ["#d9b8ff", "#7b3fd6", 6], ["#ff9fc6", "#d12472", 8], ["#8ff5e6", "#0b938c", 4], ["#c9d2ff", "#3e50d0", 5],
  ["#ffc48a", "#c4520a", 6], ["#f2f5f8", "#7d8b9c", 8], ["#fff6c9", "#ffb300", 12],
];
const stoneOf = (gem) => STONES[(gem - 1) % STONES.length];

const drawGems = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  context.fillStyle = view.won ? WON : view.lost ? LOST : BOX;
  context.fillRect(0, 0, canvas.width, canvas.height);
  view.gems.forEach((line, row) => line.forEach((gem, column) => {
    const x = board.x + column * cell, y = board.y + row * cell;
    context.fillStyle = stoneOf(gem)[1];
    context.fillRect(x + 1, y + 1, cell - 2, cell - 2);
    Kit.digits(context, gem, x + cell / 2, y + cell / 2, cell - 3, "#ffffff");
  }));
};

// The outline of a cut: a polygon that stands on a side.
const traceCut = (context, x, y, radius, corners) => {
  context.beginPath();
  for (let corner = 0; corner < corners; corner++) {
    const angle = ((corner + 0.5) * 2 * Math.PI) / corners - Math.PI / 2;
    context.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  context.closePath();
};

// A stone around (x, y) as large as `side` allows: an outer cut, facets to an inner one, its number.
const drawStone = (context, x, y, side, gem) => {
  const [light, dark, corners] = stoneOf(gem), radius = side * (corners === 4 ? 0.56 : 0.46);
  context.lineJoin = "round";
  context.lineWidth = side * 0.09;
  context.fillStyle = context.strokeStyle = dark;
  traceCut(context, x, y, radius - context.lineWidth / 2, corners);
  context.fill();
  context.stroke();
  const shine = context.createLinearGradient(x - side * 0.3, y - side * 0.45, x + side * 0.3, y + side * 0.45);
  shine.addColorStop(0, light);
  shine.addColorStop(1, dark);
  context.fillStyle = shine;
  traceCut(context, x, y, radius * 0.93, corners);
  context.fill();
  context.strokeStyle = "rgba(255, 255, 255, 0.28)";
  context.lineWidth = side * 0.015;
  context.beginPath();
  for (let corner = 0; corner < corners; corner++) {
    const angle = ((corner + 0.5) * 2 * Math.PI) / corners - Math.PI / 2;
    context.moveTo(x + radius * 0.64 * Math.cos(angle), y + radius * 0.64 * Math.sin(angle));
    context.lineTo(x + radius * 0.93 * Math.cos(angle), y + radius * 0.93 * Math.sin(angle));
  }
  context.stroke();
  context.fillStyle = dark;
  traceCut(context, x, y, radius * 0.66, corners);
  context.globalAlpha *= 0.55;
  context.fill();
  context.globalAlpha /= 0.55;
  const size = side * (gem > 9 ? 0.27 : 0.33);
  Kit.text(context, String(gem), x, y - size / 2, size, "#ffffff", { align: "center", weight: 0.19 });
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board, pad = Math.round(cell * 0.1);
  Kit.backdrop(stage, THEME, (still) => {
    still.fillStyle = BOX;
    still.beginPath();
    still.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.22);
    still.fill();
    still.fillStyle = BED;
    for (let place = 0; place < view.size * view.size; place++) {
      const x = board.x + (place % view.size) * cell, y = board.y + Math.floor(place / view.size) * cell;
      still.beginPath();
      still.roundRect(x + cell * 0.03, y + cell * 0.03, cell * 0.94, cell * 0.94, cell * 0.16);
      still.fill();
    }
  });
  if (view.won) drawRim(context, board, pad, Kit.easeOut(progress));
  context.save();
  context.beginPath();
  context.rect(board.x, board.y, board.width, board.height);
  context.clip();
  drawMoving(context, board, progress, view);
  context.restore();
  if (view.lost) {
    context.fillStyle = `rgba(3, 14, 14, ${0.6 * progress})`;
    context.beginPath();
    context.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.22);
    context.fill();
  }
  Kit.hud(stage, THEME, {
    title: ["Gem 11", `Reach ${view.target}`],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Score", view.score]],
    hint: "Click a gem that touches equal ones: they become one of the next number, there.",
    notice: (view.won && `${view.target}! It shines`) || (view.lost && "No equal gems touch"),
  });
};

// First the group gathers where it was clicked, then everything falls.
const drawMoving = (context, board, progress, view) => {
  const { cell } = board;
  const stone = ([column, row], gem, scale = 1) =>
    drawStone(context, board.x + (column + 0.5) * cell, board.y + (row + 0.5) * cell, cell * scale, gem);
  if (!view.last || progress === 1) {
    view.gems.forEach((line, row) => line.forEach((gem, column) => stone([column, row], gem)));
    return;
  }
  const { group, falls, at, to, gem } = view.last;
  const between = (a, b, part) => a.map((from, i) => from + (b[i] - from) * part);
  const gathering = Kit.easeOut(Math.min(1, progress / 0.4)), falling = Math.max(0, (progress - 0.4) / 0.6);
  for (const fall of falls) {
    const isNew = fall.to[0] === at[0] && fall.to[1] === at[1];
    if (isNew && gathering < 1) continue;
    stone(between(fall.from, fall.to, falling ** 2), fall.gem, isNew ? 1 + 0.15 * Math.sin(Math.PI * falling) : 1);
  }
  if (gathering < 1) group.toReversed().forEach((place) => stone(between(place, to, gathering), gem));
};

// The win: a golden rim that opens around the box and stays.
const drawRim = (context, board, pad, open) => {
  context.save();
  context.strokeStyle = THEME.accent;
  context.shadowColor = THEME.accent;
  context.shadowBlur = board.cell * 0.4 * open;
  context.lineWidth = board.cell * 0.05;
  context.beginPath();
  context.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, board.cell * 0.22);
  context.stroke();
  context.restore();
};
