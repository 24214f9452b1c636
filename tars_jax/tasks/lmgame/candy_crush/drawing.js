// How Candy Crush looks: four sweets that differ in shape as well as in colour.
"use strict";

const THEME = {
  glow: 0, top: "#3b1d5e", bottom: "#7a2f6f", halo: "255, 170, 220", haloStrength: 0.25, card: "rgba(255, 255, 255, 0.1)",
  accent: "#ffd166", ink: "#fff3fb", soft: "#d9b3d6",
};
const TRAY = "#2a1446", SLOTS = ["#381c5a", "#402262"];
const COLORS = [null, "#ff4d6d", "#ffd23f", "#3ddc97", "#4ea8ff"];

// The outline of a sweet of half-width `r` around the origin: a ball, a diamond, a block, a drop of three corners.
const outline = (context, colour, r) => {
  context.beginPath();
  if (colour === 1) context.arc(0, 0, r, 0, 2 * Math.PI);
  if (colour === 3) context.roundRect(-r * 0.88, -r * 0.88, r * 1.76, r * 1.76, r * 0.35);
  const corners = { 2: 4, 4: 3 }[colour];
  for (let i = 0; i < corners; i++) {
    const angle = -Math.PI / 2 + (2 * Math.PI * i) / corners;
    context.lineTo(Math.cos(angle) * r * 1.08, Math.sin(angle) * r * 1.08 + (corners === 3 ? r * 0.15 : 0));
  }
  context.closePath();
};

const paintSweet = (context, colour, r, soft) => {
  outline(context, colour, r);
  context.fillStyle = COLORS[colour];
  if (soft) {
    context.shadowColor = "rgba(0, 0, 0, 0.45)";
    context.shadowBlur = r * 0.4;
    context.shadowOffsetY = r * 0.15;
  }
  context.fill();
  if (!soft) return;
  context.shadowColor = "transparent";
  const shine = context.createRadialGradient(-r * 0.35, -r * 0.45, r * 0.05, 0, 0, r * 1.2);
  shine.addColorStop(0, "rgba(255, 255, 255, 0.75)");
  shine.addColorStop(0.35, "rgba(255, 255, 255, 0.1)");
  shine.addColorStop(1, "rgba(0, 0, 0, 0.25)");
  context.fillStyle = shine;
  context.fill();
};

// Each sweet is painted once for a size of cell and copied from there.
const PAINTED = new Map();
const sweet = (colour, cell, soft) => {
  const name = `${colour} ${cell}`;
  if (!PAINTED.has(name)) {
    const picture = document.createElement("canvas");
    picture.width = picture.height = cell;
    const context = picture.getContext("2d", { willReadFrequently: true });
    context.translate(cell / 2, cell / 2);
    paintSweet(context, colour, cell * 0.36, soft);
    PAINTED.set(name, picture);
  }
  return PAINTED.get(name);
};

const drawBoard = (stage, progress, view) => {
  const { context, canvas, layout: { mode, board } } = stage;
  const { cell } = board, soft = mode !== "compact";
  if (soft) {
    Kit.backdrop(stage, THEME);
    context.fillStyle = TRAY;
    context.beginPath();
    context.roundRect(board.x - cell * 0.15, board.y - cell * 0.15, board.width + cell * 0.3, board.height + cell * 0.3, cell * 0.3);
    context.fill();
  } else {
    context.fillStyle = TRAY;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  view.board.forEach((line, row) => line.forEach((colour, column) => {
    const x = board.x + column * cell, y = board.y + row * cell;
    const chosen = view.selected && view.selected[0] === row && view.selected[1] === column;
    context.fillStyle = chosen ? "#ffffff" : SLOTS[(row + column) % 2];
    context.fillRect(x, y, cell, cell);
    const touched = view.last?.some(([r, c]) => r === row && c === column);
    const swell = soft && touched ? 1 - 0.25 * Math.sin(Math.PI * progress) : 1;
    const side = cell * swell, gap = (cell - side) / 2;
    context.drawImage(sweet(colour, cell, soft), x + gap, y + gap, side, side);
  }));
  if (!soft) return;
  Kit.hud(stage, THEME, {
    title: ["Candy Crush", "Match three"],
    numbers: [["Moves left", view.left], ["Score", view.score]],
    hint: "Swap two neighbours, by two clicks or a drag, so that three or more of a kind stand in a line.",
    notice: view.left <= 0 && `${view.score} cleared`,
  });
};
