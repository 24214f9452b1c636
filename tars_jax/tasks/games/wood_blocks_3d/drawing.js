// How Wood Blocks 3D looks: a carved board by candlelight, blocks with grain that stand on it and lean with the eye.
"use strict";

const THEME = {
  glow: 0, top: "#4a3424", bottom: "#1f140c", halo: "255, 190, 110", haloStrength: 0.28, card: "rgba(255, 236, 206, 0.09)",
  accent: "#ffc062", ink: "#fff0da", soft: "#cfb290",
};
const EMPTY = "#4f3423", GROUND = "#1f140c", OFFER = "#33221a", FLAT = ["#eebb72", "#dd8f58", "#f3d9a4", "#c08a58"];
const OFFER_ROWS = 2, OFFERED = 3; // the pieces lie below the board
const TALL = 0.5, LIFT = 0.5; // height of a block, and of a hand over the board, in cells
const FLAT_TALL = 0.25; // on a small stage

const drawWood = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// Which of the offered pieces lies at a point; null where none can.
const slotAt = (board, size, x, y) => {
  const slot = Math.floor(((x - board.x) * OFFERED) / board.width), row = (y - board.y) / board.cell;
  return slot >= 0 && slot < OFFERED && row >= size && row < size + OFFER_ROWS ? slot : null;
};

// The side of one block of an offered piece, and the middle of its place.
const slotOf = (board, size, slot) => [
  Math.min(board.width / OFFERED / 3.3, (OFFER_ROWS * board.cell) / 3.9),
  board.x + ((slot + 0.5) * board.width) / OFFERED, board.y + (size + 0.54 * OFFER_ROWS) * board.cell,
];

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const square = (x, y, side, color) => {
    context.fillStyle = color;
    context.fillRect(x, y, side - 1, side - 1);
  };
  context.fillStyle = view.won ? "#ffd98a" : view.lost ? "#7c1f1f" : GROUND;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = GROUND;
  context.fillRect(board.x, board.y, board.width, view.size * cell);
  const boxes = [];
  const block = (x, y, side, kind) => {
    if (view.renderer === "webgl") boxes.push({ ...boxAt(x, y, side, 0, kind), top: side * FLAT_TALL });
    else square(x, y, side, FLAT[kind - 1]);
  };
  view.blocks.forEach((line, row) => line.forEach((kind, column) => {
    const x = board.x + column * cell, y = board.y + row * cell;
    square(x, y, cell, EMPTY);
    if (kind) block(x, y, cell, kind);
  }));
  view.offered.forEach((piece, slot) => {
    if (!piece || view.carried?.at === slot) return;
    const [side, x, y] = slotOf(board, view.size, slot), whole = Math.floor(side), [wide, high] = extent(piece);
    piece.cells.forEach(([column, row]) => block(
      Math.round(x - (wide * whole) / 2) + column * whole, Math.round(y - (high * whole) / 2) + row * whole, whole,
      piece.wood));
  });
  if (view.carried) {
    const piece = view.offered[view.carried.at], [wide, high] = extent(piece);
    piece.cells.forEach(([column, row]) => block(
      view.carried.x + (column - wide / 2) * cell, view.carried.y + (row - high / 2) * cell, cell, piece.wood));
  }
  if (boxes.length) Solid.draw(context, eyeOver({ mode: "tall", board }, view.size), boxes);
};

const rimOf = ({ mode, board }) => Math.min(board.cell * 0.24, mode === "tall" ? 8 : 12);

// The hollow that an offered piece lies in, below the rim: [its middle, its width and height].
const pocketOf = (layout, size, slot) => {
  const { board } = layout, [, x, y] = slotOf(board, size, slot), rim = rimOf(layout);
  return [x, y + rim * 0.6, (0.94 * board.width) / OFFERED, OFFER_ROWS * board.cell - 2 * rim];
};

const paintTable = (still, layout, size) => {
  const { board } = layout, { cell } = board, side = size * cell, rim = rimOf(layout);
  const eye = eyeOver(layout, size);
  still.save();
  still.shadowColor = "rgba(0, 0, 0, 0.6)";
  still.shadowBlur = cell * 0.5;
  still.shadowOffsetY = cell * 0.2;
  still.fillStyle = TIMBER[4][3];
  still.fillRect(board.x - rim, board.y - rim, side + 2 * rim, side + 2 * rim);
  still.restore();
  const bar = (x, y, wide, high) => drawBox(still, eye, { x, y, wide, high, low: 0, top: cell * 0.2, wood: 4 });
  const pocket = (x, y, wide, high, corner) => {
    const carved = still.createLinearGradient(x, y, x + wide * 0.25, y + high);
    carved.addColorStop(0, "#23140a");
    carved.addColorStop(0.35, "#38241a");
    carved.addColorStop(1, "#4c3324");
    still.fillStyle = carved;
    still.beginPath();
    still.roundRect(x, y, wide, high, corner);
    still.fill();
    still.strokeStyle = "rgba(255, 220, 170, 0.1)";
    still.lineWidth = 1;
    still.stroke();
  };
  bar(board.x - rim, board.y - rim, side + 2 * rim, rim);
  bar(board.x - rim, board.y, rim, side);
  bar(board.x + side, board.y, rim, side);
  for (let place = 0; place < size * size; place++) {
    const x = board.x + (place % size) * cell, y = board.y + Math.floor(place / size) * cell;
    pocket(x + cell * 0.04, y + cell * 0.04, cell * 0.92, cell * 0.92, cell * 0.1);
  }
  bar(board.x - rim, board.y + side, side + 2 * rim, rim);
  for (let slot = 0; slot < OFFERED; slot++) {
    const [x, y, wide, high] = pocketOf(layout, size, slot);
    pocket(x - wide / 2, y - high / 2, wide, high, cell * 0.16);
  }
};

// The boxes of a piece whose middle is at (x, y).
const boxesOf = (piece, x, y, side, low) => {
  const [wide, high] = extent(piece);
  return piece.cells.map(([column, row]) =>
    boxAt(x + (column - wide / 2) * side, y + (row - high / 2) * side, side, low, piece.wood));
};

const boxAt = (x, y, side, low, kind) => ({
  x: x + side * 0.02, y: y + side * 0.02, wide: side * 0.96, high: side * 0.96, low, top: low + side * TALL, wood: kind - 1,
  corner: side * 0.07,
});

// Far boxes first, and in a row those far from the middle: nearer ones hide what lies behind.
const drawBoxes = (context, eye, boxes, renderer) => {
  boxes.forEach((box) => drawShadow(context, box));
  if (renderer === "webgl") return Solid.draw(context, eye, boxes);
  const aside = ({ x, wide }) => Math.abs(x + wide / 2 - eye.x);
  [...boxes].sort((one, other) => one.y - other.y || aside(other) - aside(one)).forEach((box) => {
    context.globalAlpha = box.alpha ?? 1;
    drawBox(context, eye, box);
  });
  context.globalAlpha = 1;
};

// What stands on the board while the last piece comes down and full lines rise and fade.
const standing = ({ blocks, last }, board, fall, after) => {
  const { cell } = board;
  const fresh = new Set((last?.place ? last.piece.cells : []).map(([x, y]) => `${[last.place[0] + x, last.place[1] + y]}`));
  const low = ([x, y]) => (fresh.has(`${[x, y]}`) ? (1 - fall) * LIFT * cell : 0);
  const at = (x, y, kind, rise, alpha) =>
    ({ ...boxAt(board.x + x * cell, board.y + y * cell, cell, low([x, y]) + rise, kind), alpha });
  const boxes = blocks.flatMap((line, y) => line.map((kind, x) => kind && at(x, y, kind, 0, 1)).filter(Boolean));
  const gone = after < 1 ? (last?.cleared ?? []).map(({ x, y, kind }) => at(x, y, kind, after * cell, 1 - after)) : [];
  return [...boxes, ...gone];
};

const drawSoft = (stage, progress, view) => {
  const { context, layout } = stage;
  const { board } = layout, { cell } = board, eye = eyeOver(layout, view.size);
  const fall = Kit.easeOut(Math.min(1, progress / 0.5)), after = Math.max(0, (progress - 0.5) / 0.5);
  Kit.backdrop(stage, THEME, (still) => paintTable(still, layout, view.size));
  const held = view.carried && view.offered[view.carried.at];
  if (held && fits(view.blocks, held, view.landing)) drawLanding(context, board, held, view.landing);
  drawBoxes(context, eye, standing(view, board, fall, after), view.renderer);
  view.offered.forEach((piece, slot) => {
    if (!piece || view.carried?.at === slot) return;
    const [side] = slotOf(board, view.size, slot), [x, y] = pocketOf(layout, view.size, slot);
    const back = view.last?.back && view.last.at === slot ? 1 - Kit.easeOut(progress) : 0;
    const [fromX, fromY] = back ? view.last.back : [x, y];
    const grown = view.last?.dealt ? Math.max(0.01, Kit.easeOut(after)) : 1;
    const whole = side * grown + (cell - side) * back;
    const boxes = boxesOf(piece, x + (fromX - x) * back, y + (fromY - y) * back, whole, back * cell * LIFT);
    drawBoxes(context, eye, boxes, view.renderer);
  });
  if (held) {
    const [x, y] = pointUnder(eye, view.carried.x, view.carried.y, (LIFT + TALL) * cell); // its top is under the pointer
    drawBoxes(context, eye, boxesOf(held, x, y, cell, LIFT * cell), view.renderer);
  }
  if (view.lost) drawLoss(context, board, view.size, after);
  if (view.won) drawEmbers(context, board, view.size, Kit.easeOut(progress));
  Kit.hud(stage, THEME, {
    title: ["Wood", "Blocks 3D"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Lines", `${view.lines}/${view.target}`]],
    hint: "Drag the pieces onto the board. Full rows and columns go. Leave room for the next piece.",
    notice: (view.won && "Well carved!") || (view.lost && "No piece fits"),
  });
};

// The cells that a carried piece would come down on.
const drawLanding = (context, board, { cells }, [column, row]) => {
  context.fillStyle = "rgba(255, 200, 110, 0.34)";
  for (const [x, y] of cells) {
    const left = board.x + (column + x) * board.cell, top = board.y + (row + y) * board.cell;
    context.beginPath();
    context.roundRect(left + board.cell * 0.04, top + board.cell * 0.04, board.cell * 0.92, board.cell * 0.92, board.cell * 0.1);
    context.fill();
  }
};

const drawLoss = (context, board, size, after) => {
  context.fillStyle = `rgba(18, 8, 4, ${0.55 * after})`;
  context.fillRect(board.x - board.cell * 0.3, board.y - board.cell * 0.5, board.width + board.cell * 0.6, (size + 0.7) * board.cell);
};

// The win: embers that rise from the board and stay, around a band of light.
const drawEmbers = (context, board, size, eased) => {
  const side = size * board.cell, x = board.x + side / 2, y = board.y + side / 2;
  const light = context.createRadialGradient(x, y, 0, x, y, side * 0.7);
  light.addColorStop(0, `rgba(255, 214, 130, ${0.5 * eased})`);
  light.addColorStop(1, "rgba(255, 190, 90, 0)");
  context.fillStyle = light;
  context.fillRect(board.x - side * 0.2, board.y - side * 0.2, side * 1.4, side * 1.4);
  for (let ember = 0; ember < 26; ember++) {
    const angle = ember * 2.4, far = side * 0.46 * Math.sqrt(ember / 26) * eased;
    context.fillStyle = ["#ffe2a0", "#ffb84d", "#ff8a3c"][ember % 3];
    context.beginPath();
    context.arc(x + far * Math.cos(angle), y + far * Math.sin(angle), side * (0.006 + 0.005 * (ember % 4)), 0, 2 * Math.PI);
    context.fill();
  }
};
