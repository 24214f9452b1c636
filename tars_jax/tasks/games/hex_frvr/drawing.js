// How Hex FRVR looks: sweets on lilac paper.
"use strict";

const THEME = {
  glow: 0, top: "#f8f3ff", bottom: "#ddd2f4", halo: "255, 255, 255", haloStrength: 0.9, card: "rgba(98, 70, 160, 0.09)",
  accent: "#8a4fd8", ink: "#41306b", soft: "#7d6ea6",
};
const GROUND = "#5b4a86", FREE = "#cbbfe6", SHELF = "rgba(98, 70, 160, 0.1)", WON = "#ffffff", LOST = "#1d1630";
const COLORS = {
  stone: "#8577ab", dot: "#ff5f86", pair: "#ff9a3d", bar: "#3f9cff", beam: "#3f9cff", bend: "#22b889", arch: "#22b889",
  heap: "#a44df2", bee: "#a44df2", hook: "#f2b705",
};

const drawHexes = (stage, progress, view) => {
  const geometry = geometryOf(stage.layout, view.board);
  if (stage.layout.mode === "compact") drawFlat(stage, view, geometry);
  else drawSoft(stage, progress, view, geometry);
};

const drawFlat = ({ context, canvas, layout: { board } }, view, { hex, rise, centers, slots }) => {
  context.fillStyle = view.won ? WON : view.lost ? LOST : GROUND;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const brick = ([x, y], side, color) => {
    context.fillStyle = color;
    context.fillRect(Math.round(x - side / 2), Math.round(y - side / 2), side - 1, side - 1);
  };
  view.held.forEach((shape, place) => brick(centers[place], hex, shape ? COLORS[shape] : FREE));
  context.fillStyle = "#000000";
  context.fillRect(board.x, board.y + board.height - TRAY_ROWS * board.cell, board.width, TRAY_ROWS * board.cell);
  context.fillStyle = WON;
  const done = Math.min(1, view.lines / view.wanted), bar = Math.ceil(board.cell / 2);
  context.fillRect(board.x, board.y + board.height - bar, Math.round(board.width * done), bar);
  view.tray.forEach((piece, slot) => {
    if (view.carried?.slot === slot) return;
    const points = piecePoints(piece, slots[slot], hex / 2, rise / 2);
    points.forEach((point) => brick(point, board.cell, COLORS[piece.shape]));
  });
  view.carried?.way?.forEach((place) => brick(centers[place], hex, COLORS[view.tray[view.carried.slot].shape]));
};

const traceHex = (context, [x, y], radius) => {
  context.beginPath();
  for (let corner = 0; corner < 6; corner++) {
    const angle = (corner * Math.PI) / 3 + Math.PI / 6;
    context.lineTo(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }
  context.closePath();
};

// A hexagon with round corners; `width` is that of its place.
const fillHex = (context, at, width, color) => {
  traceHex(context, at, width * 0.44);
  context.lineJoin = "round";
  context.lineWidth = width * 0.16;
  context.fillStyle = context.strokeStyle = color;
  context.fill();
  context.stroke();
};

// A sweet: a shade below, a light above.
const drawSweet = (context, [x, y], width, color) => {
  fillHex(context, [x, y + width * 0.03], width, "rgba(58, 36, 104, 0.3)");
  fillHex(context, [x, y], width, color);
  traceHex(context, [x, y - width * 0.02], width * 0.36);
  const light = context.createLinearGradient(x, y - width * 0.4, x, y + width * 0.4);
  light.addColorStop(0, "rgba(255, 255, 255, 0.42)");
  light.addColorStop(0.6, "rgba(255, 255, 255, 0)");
  context.fillStyle = light;
  context.fill();
};

const drawSoft = (stage, progress, view, { hex, rise, centers, slots }) => {
  const { context, layout: { board } } = stage;
  const { cell } = board, eased = Kit.easeOut(progress), small = 0.55;
  Kit.backdrop(stage, THEME, (still) => {
    centers.forEach((at) => fillHex(still, at, hex, FREE));
    const high = (TRAY_ROWS - 0.4) * cell;
    still.fillStyle = SHELF;
    still.beginPath();
    still.roundRect(board.x, board.y + board.height - high - 0.2 * cell, board.width, high, cell * 0.8);
    still.fill();
  });
  if (view.won) drawHalo(context, centers, hex, eased);
  const fresh = new Set(view.last?.way);
  view.held.forEach((shape, place) => {
    if (shape) drawSweet(context, centers[place], hex * (fresh.has(place) ? 0.75 + 0.25 * eased : 1), COLORS[shape]);
  });
  if (view.last && progress < 1) {
    context.globalAlpha = 1 - eased;
    const swollen = hex * (1 + 0.25 * eased);
    view.last.gone.forEach(([place, shape]) => drawSweet(context, centers[place], swollen, COLORS[shape]));
    context.globalAlpha = 1;
  }
  if (view.carried?.way) {
    const color = COLORS[view.tray[view.carried.slot].shape];
    context.globalAlpha = 0.45;
    view.carried.way.forEach((place) => fillHex(context, centers[place], hex, color));
    context.globalAlpha = 1;
  }
  view.tray.forEach((piece, slot) => {
    if (view.carried?.slot === slot) return;
    const scale = small * (view.last?.slot === slot ? 0.4 + 0.6 * eased : 1);
    context.globalAlpha = view.lost ? 0.35 : 1;
    piecePoints(piece, slots[slot], hex * scale, rise * scale).forEach((at) =>
      drawSweet(context, at, hex * scale, COLORS[piece.shape]));
    context.globalAlpha = 1;
  });
  if (view.lost) drawVeil(context, centers, hex, eased);
  if (view.carried) {
    const { slot, at: [x, y] } = view.carried, piece = view.tray[slot];
    const points = piecePoints(piece, [0, 0], hex, rise), [mx, my] = middleOf(points);
    points.forEach(([px, py]) => drawSweet(context, [x + px - mx, y + py - my], hex * 0.96, COLORS[piece.shape]));
  }
  Kit.hud(stage, THEME, {
    title: ["Hex FRVR", `Clear ${view.wanted} line${view.wanted > 1 ? "s" : ""}`],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Lines", `${view.lines}/${view.wanted}`]],
    hint: "Drag a piece onto the board. A full line vanishes, in any of its three directions.",
    notice: (view.won && "All lines cleared!") || (view.lost && "No piece fits"),
  });
};

// The win: every hexagon's place is rimmed with light.
const drawHalo = (context, centers, hex, open) => {
  context.save();
  context.shadowColor = THEME.accent;
  context.shadowBlur = hex * 0.5 * open;
  centers.forEach((at) => fillHex(context, at, hex, "#ffffff"));
  context.restore();
};

const drawVeil = (context, centers, hex, open) => {
  context.globalAlpha = 0.32 * open;
  centers.forEach((at) => fillHex(context, at, hex, "#2c2147"));
  context.globalAlpha = 1;
};
