// How Tiles Master looks: ivory tiles with green backs on a pale tea table, and a lacquered tray.
"use strict";

const THEME = {
  glow: 0, top: "#eef3e2", bottom: "#c3d9bd", halo: "255, 255, 246", haloStrength: 0.85, card: "rgba(38, 84, 60, 0.1)",
  accent: "#12865a", ink: "#22463a", soft: "#557565",
};
const FACE = "#fffaea", EDGE = "#d8cdae", BACK = "#2f9e6e", SHADE = "rgba(24, 58, 44, 0.46)";
const TRAY = "#6b2f24", PLACE = "#52221a", LOST = "#c22f3d", WON = "#f2c14e";

const drawTiles = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// The middle and the side of place number `at` of the tray.
const placeOf = (board, at) => {
  const side = board.width / PLACES;
  return [board.x + (at + 0.5) * side, board.y + (ROWS + 0.5) * board.cell, side];
};

const middleOf = (board, { column, row }) =>
  [board.x + ((column + 2) * board.cell) / 2 - board.cell / 2, board.y + ((row + 1) * board.cell) / 2];

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const face = (x, y, side, kind, covered) => {
    const left = Math.round(x - side / 2), top = Math.round(y - side / 2);
    context.fillStyle = BACK;
    context.fillRect(left, top, side, side);
    context.fillStyle = FACE;
    context.fillRect(left, top, side - 1, side - 1);
    drawPicture(context, kind, left + (side - 1) / 2, top + (side - 1) / 2, side - 3);
    if (!covered) return;
    context.fillStyle = SHADE;
    context.fillRect(left, top, side, side);
  };
  context.fillStyle = view.won ? WON : THEME.bottom;
  context.fillRect(0, 0, canvas.width, canvas.height);
  view.tiles.forEach((tile) => face(...middleOf(board, tile), cell, tile.kind, !isFree(view.tiles, tile)));
  context.fillStyle = view.lost ? LOST : TRAY;
  context.fillRect(board.x, board.y + ROWS * cell, board.width, cell);
  for (let at = 0; at < PLACES; at++) {
    const [x, y, side] = placeOf(board, at), whole = Math.floor(side);
    context.fillStyle = PLACE;
    if (at < view.tray.length) face(x, y, whole, view.tray[at], false);
    else context.fillRect(Math.round(x - side / 2) + 1, Math.round(y - side / 2) + 1, whole - 2, whole - 2);
  }
};

// One tile: a green back that shows below, an ivory face, its picture.
const drawTile = (context, x, y, side, kind, { shade = 0, shadow = 0.1 } = {}) => {
  const half = side * 0.48, corner = side * 0.13, deep = side * 0.075;
  context.save();
  context.shadowColor = "rgba(20, 52, 40, 0.42)";
  context.shadowBlur = side * shadow;
  context.shadowOffsetY = side * shadow * 0.7;
  context.fillStyle = BACK;
  context.beginPath();
  context.roundRect(x - half, y - half, 2 * half, 2 * half, corner);
  context.fill();
  context.restore();
  const ivory = context.createLinearGradient(0, y - half, 0, y + half);
  ivory.addColorStop(0, "#fffdf5");
  ivory.addColorStop(1, "#f6ecd0");
  context.fillStyle = EDGE;
  context.beginPath();
  context.roundRect(x - half, y - half, 2 * half, 2 * half - deep, corner);
  context.fill();
  context.fillStyle = ivory;
  context.beginPath();
  context.roundRect(x - half, y - half, 2 * half, 2 * half - 1.5 * deep, corner);
  context.fill();
  drawPicture(context, kind, x, y - deep * 0.75, side * 0.66);
  if (!shade) return;
  context.fillStyle = `rgba(24, 58, 44, ${0.4 * shade})`;
  context.beginPath();
  context.roundRect(x - half, y - half, 2 * half, 2 * half, corner);
  context.fill();
};

const paintTray = (context, board) => {
  const pad = board.cell * 0.1;
  context.save();
  context.shadowColor = "rgba(50, 20, 12, 0.4)";
  context.shadowBlur = board.cell * 0.2;
  context.shadowOffsetY = board.cell * 0.06;
  context.fillStyle = TRAY;
  context.beginPath();
  const top = board.y + ROWS * board.cell + board.cell * 0.5;
  const high = board.width / PLACES + pad;
  context.roundRect(board.x - pad, top - high / 2, board.width + 2 * pad, high, board.cell * 0.18);
  context.fill();
  context.restore();
  for (let at = 0; at < PLACES; at++) {
    const [x, y, side] = placeOf(board, at);
    context.fillStyle = PLACE;
    context.beginPath();
    context.roundRect(x - side * 0.45, y - side * 0.45, side * 0.9, side * 0.9, side * 0.14);
    context.fill();
  }
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  Kit.backdrop(stage, THEME, (still) => paintTray(still, board));
  const eased = Kit.easeOut(Math.min(1, progress / 0.65)), after = Math.max(0, (progress - 0.65) / 0.35);
  for (const tile of view.tiles) {
    const now = isFree(view.tiles, tile);
    const freed = now && view.last && overlap(view.last.tile, tile) && view.last.tile.layer > tile.layer;
    drawTile(context, ...middleOf(board, tile), board.cell, tile.kind, { shade: freed ? 1 - eased : now ? 0 : 1 });
  }
  if (view.last) drawTray(context, board, view.last, eased, after);
  Kit.hud(stage, THEME, {
    title: ["Tiles", "Master"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Left", view.left]],
    hint: "Click a tile that nothing lies on. Three of a kind vanish from the tray. Do not fill it.",
    notice: (view.won && "The table is clear!") || (view.lost && "The tray is full"),
  });
  if (view.won) drawPetals(context, board, progress);
  if (view.lost) drawLoss(context, board, after);
};

// The tray around the last move: old tiles make room, the new one flies in, three of a kind shrink, the rest close up.
const drawTray = (context, board, { tile, before, at, vanished, tray }, eased, after) => {
  const filled = [...before.slice(0, at), tile.kind, ...before.slice(at)];
  let rest = 0;
  filled.forEach((kind, index) => {
    const goes = vanished && kind === tile.kind;
    const to = goes ? index : rest++;
    const [x, y, side] = placeOf(board, index);
    if (index === at) return;
    const from = placeOf(board, index > at ? index - 1 : index)[0];
    const opened = from + (x - from) * eased;
    if (!goes) drawTile(context, opened + (placeOf(board, to)[0] - x) * after, y, side, kind);
    else if (after < 1) drawTile(context, opened, y, side * (1 - after), kind);
  });
  const [x, y, side] = placeOf(board, at), [fromX, fromY] = middleOf(board, tile);
  const size = board.cell + (side - board.cell) * eased;
  const shown = vanished ? 1 - after : 1;
  const place = [fromX + (x - fromX) * eased, fromY + (y - fromY) * eased];
  if (vanished || tray.length) drawTile(context, ...place, Math.max(0.01, size * shown), tile.kind, { shadow: 0.1 + 0.25 * (1 - eased) });
};

// The win: petals that open over the empty table and stay.
const drawPetals = (context, board, progress) => {
  const x = board.x + board.width / 2, y = board.y + (ROWS * board.cell) / 2, open = Kit.easeOut(progress);
  for (let petal = 0; petal < 10; petal++) {
    context.save();
    context.translate(x, y);
    context.rotate((petal * Math.PI) / 5 + 0.3 * open);
    drawPicture(context, petal % 2 ? "flower" : "leaf", 0, -board.cell * 1.5 * open, board.cell * (0.3 + 0.5 * open));
    context.restore();
  }
  drawPicture(context, "star", x, y, board.cell * 1.5 * open);
};

const drawLoss = (context, board, after) => {
  context.fillStyle = `rgba(60, 24, 20, ${0.45 * after})`;
  context.beginPath();
  context.roundRect(board.x, board.y, board.width, ROWS * board.cell, board.cell * 0.2);
  context.fill();
};
