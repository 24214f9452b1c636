// How Free the Key looks: glazed blocks in a slate tray, the key in gold.
"use strict";

const THEME = {
  glow: 0, top: "#eef5f0", bottom: "#c7dde0", halo: "255, 255, 255", haloStrength: 0.85, card: "rgba(38, 84, 98, 0.1)",
  accent: "#c8791a", ink: "#1f4553", soft: "#557a86",
};
const FRAME = "#4b7482", SLOT = "#2d505e", GROOVE = "#345b69", GATE = "#ffd35c";
const KEY = ["#ffe08a", "#f2a92c", "#7a4a06"], ACROSS = ["#7fd0c0", "#3f9c93"], ALONG = ["#f4a78d", "#d9694f"];

const drawBlocks = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// Where a block is drawn, in cells: on its place, under the pointer that carries it, or on its way between.
const shownAt = (block, number, { carried, last }, progress) => {
  let by = 0;
  if (carried?.number === number) by = carried.by;
  else if (last?.number === number) by = last.from * (1 - Kit.easeOut(progress));
  return block.across ? [block.column + by, block.row] : [block.column, block.row + by];
};

const colorsOf = (block, number) => (number === 0 ? KEY : block.across ? ACROSS : ALONG);

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  context.fillStyle = FRAME;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = view.won ? "#ffffff" : SLOT;
  context.fillRect(board.x, board.y, board.width, board.height);
  view.blocks.forEach((block, number) => {
    const [column, row] = shownAt(block, number, view, 1);
    const x = Math.round(board.x + column * cell), y = Math.round(board.y + row * cell);
    const width = block.across ? block.length * cell : cell, height = block.across ? cell : block.length * cell;
    context.fillStyle = colorsOf(block, number)[number === 0 ? 0 : 1];
    context.fillRect(x + 1, y + 1, width - 2, height - 2);
    if (number !== 0) return;
    context.fillStyle = KEY[2];
    const box = (...sides) => context.fillRect(...sides.map((side, i) => [x, y, 0, 0][i] + Math.round(cell * side)));
    box(0.3, 0.3, 0.4, 0.4);
    box(0.7, 0.44, 0.9, 0.13);
  });
  const bar = Math.max(2, Math.round(cell / 8));
  context.fillStyle = GATE;
  context.fillRect(board.x + board.width - bar, board.y + EXIT_ROW * cell, bar, cell);
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board, pad = Math.round(cell * 0.16);
  Kit.backdrop(stage, THEME, (still) => drawTray(still, board, pad));
  if (view.won) drawLight(context, board, pad, Kit.easeOut(progress));
  const isHeld = (number) => view.carried?.number === number;
  for (const number of [...view.blocks.keys()].sort((a, b) => isHeld(a) - isHeld(b))) {
    const held = isHeld(number), flash = view.last?.number === number ? 0.35 * (1 - progress) : 0;
    drawBlock(context, board, view.blocks[number], shownAt(view.blocks[number], number, view, progress), {
      colors: colorsOf(view.blocks[number], number), held, flash, key: number === 0,
    });
  }
  Kit.hud(stage, THEME, {
    title: ["Free the Key", "Slide the blocks away"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Best", view.startDistance]],
    hint: "Drag a block along itself. Bring the golden key to the gate on the right.",
    notice: view.won && "The key is free!",
  });
};

// The still parts: a frame with a gate in its right side, and a groove for each cell.
const drawTray = (context, board, pad) => {
  const { x, y, width, height, cell } = board;
  context.save();
  context.shadowColor = "rgba(20, 50, 62, 0.35)";
  context.shadowBlur = cell * 0.35;
  context.shadowOffsetY = cell * 0.1;
  context.fillStyle = FRAME;
  context.beginPath();
  context.roundRect(x - pad, y - pad, width + 2 * pad, height + 2 * pad, cell * 0.26);
  context.fill();
  context.restore();
  context.fillStyle = SLOT;
  context.beginPath();
  context.roundRect(x, y, width, height, cell * 0.12);
  context.fill();
  context.fillStyle = GROOVE;
  for (let place = 0; place < SIDE * SIDE; place++) {
    const left = x + (place % SIDE) * cell, top = y + Math.floor(place / SIDE) * cell;
    context.beginPath();
    context.roundRect(left + cell * 0.05, top + cell * 0.05, cell * 0.9, cell * 0.9, cell * 0.12);
    context.fill();
  }
  const middle = y + (EXIT_ROW + 0.5) * cell, right = x + width;
  context.fillStyle = GATE;
  context.beginPath();
  context.roundRect(right - cell * 0.02, middle - cell * 0.42, pad + cell * 0.06, cell * 0.84, cell * 0.06);
  context.fill();
  context.strokeStyle = KEY[2];
  context.lineWidth = cell * 0.035;
  context.lineCap = context.lineJoin = "round";
  context.beginPath();
  context.moveTo(right + pad * 0.3, middle - pad * 0.45);
  context.lineTo(right + pad * 0.75, middle);
  context.lineTo(right + pad * 0.3, middle + pad * 0.45);
  context.stroke();
};

const drawBlock = (context, { x, y, cell }, block, [column, row], { colors, held, flash, key }) => {
  const inset = cell * 0.05, width = (block.across ? block.length : 1) * cell - 2 * inset;
  const height = (block.across ? 1 : block.length) * cell - 2 * inset;
  const left = x + column * cell + inset, top = y + row * cell + inset;
  const shape = (grow) => {
    context.beginPath();
    context.roundRect(left - grow, top - grow, width + 2 * grow, height + 2 * grow, cell * 0.16 + grow);
  };
  const glaze = context.createLinearGradient(left, top, left, top + height);
  glaze.addColorStop(0, colors[0]);
  glaze.addColorStop(1, colors[1]);
  context.save();
  context.shadowColor = "rgba(8, 28, 36, 0.5)";
  context.shadowBlur = cell * (held ? 0.28 : 0.1);
  context.shadowOffsetY = cell * (held ? 0.1 : 0.05);
  context.fillStyle = glaze;
  shape(0);
  context.fill();
  context.restore();
  context.strokeStyle = "rgba(255, 255, 255, 0.4)";
  context.lineWidth = cell * 0.025;
  shape(-cell * 0.045);
  context.stroke();
  if (key) drawKey(context, left + width / 2, top + height / 2, cell, colors[2]);
  if (flash) {
    context.fillStyle = `rgba(255, 255, 255, ${flash})`;
    shape(0);
    context.fill();
  }
};

// A key that lies on its side, centred at (x, y): a ring, a shaft, two teeth.
const drawKey = (context, x, y, cell, color) => {
  context.strokeStyle = color;
  context.lineWidth = cell * 0.11;
  context.lineCap = context.lineJoin = "round";
  context.beginPath();
  context.arc(x - cell * 0.4, y, cell * 0.19, 0, 2 * Math.PI);
  context.moveTo(x - cell * 0.2, y);
  context.lineTo(x + cell * 0.56, y);
  context.lineTo(x + cell * 0.56, y + cell * 0.17);
  context.moveTo(x + cell * 0.34, y);
  context.lineTo(x + cell * 0.34, y + cell * 0.14);
  context.stroke();
};

// The win: a golden light around the tray that opens and stays.
const drawLight = (context, { x, y, width, height, cell }, pad, open) => {
  context.save();
  context.strokeStyle = GATE;
  context.shadowColor = "#f2a92c";
  context.shadowBlur = cell * 0.5 * open;
  context.lineWidth = cell * 0.07 * open;
  context.beginPath();
  context.roundRect(x - pad, y - pad, width + 2 * pad, height + 2 * pad, cell * 0.26);
  context.stroke();
  context.restore();
};
