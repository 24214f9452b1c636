// How Merge and Double looks: candy blocks falling through white lanes under a blue sky.
"use strict";

const THEME = {
  glow: 0, top: "#dcf1ff", bottom: "#9fc9f3", halo: "255, 255, 255", haloStrength: 0.85, card: "rgba(20, 60, 120, 0.1)",
  accent: "#e8590c", ink: "#12386b", soft: "#3f679b",
};
const FLAT_GROUND = "#12386b", FLAT_LANE = "#071a36", FLAT_WON = "#ffffff", FLAT_LOST = "#000000";
// colours of 2, 4, 8, ...; the last one stands for all that follow
const BLOCK_COLORS = [
  "#3ec9a7", "#2f9df4", "#8a63f2", "#e857b6", "#f2545b", "#fb8c2e", "#eab308", "#74b816", "#0c8599", "#3b5bdb",
  "#9c36b5", "#212f4d",
];

const colorOf = (block) => BLOCK_COLORS[Math.min(BLOCK_COLORS.length, Math.log2(block)) - 1];

const drawBoard = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// Above the lanes: the block in hand over the middle lane; beside them, one cell lower: the next block.
const HAND = [Math.floor(COLUMNS / 2), 0], NEXT = [COLUMNS, 1];

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const numbered = ([column, row], block, inset) => {
    const [x, y] = [board.x + column * cell + inset, board.y + row * cell + inset];
    const side = cell - Math.max(1, 2 * inset);
    context.fillStyle = colorOf(block);
    context.fillRect(x, y, side, side);
    Kit.digits(context, block, x + side / 2, y + side / 2, cell - inset, "#ffffff");
  };
  context.fillStyle = view.won ? FLAT_WON : view.lost ? FLAT_LOST : FLAT_GROUND;
  context.fillRect(0, 0, canvas.width, canvas.height);
  view.columns.forEach((stack, column) => {
    context.fillStyle = FLAT_LANE;
    context.fillRect(board.x + column * cell, board.y + cell, cell - 1, HEIGHT * cell);
    stack.forEach((block, row) => numbered([column, HEIGHT - row], block, 0));
  });
  if (view.won || view.lost) return;
  numbered(HAND, view.block, 0);
  numbered(NEXT, view.next, 2);
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  Kit.backdrop(stage, THEME, (still) => drawLanes(still, board));
  const falling = Math.min(1, progress / 0.45), merging = Math.max(0, (progress - 0.45) / 0.55);
  if (view.last && falling < 1) {
    const { column, block, before } = view.last, down = falling ** 2;
    drawStacks(context, board, before, null, 1);
    const to = HEIGHT - before[column].length;
    drawBlock(context, board, [column, to * down], block, 1);
  } else {
    const merges = view.last ? view.last.merges : [{ columns: view.columns, place: null }];
    const at = Math.min(merges.length - 1, Math.floor(merging * merges.length));
    const swell = 1 + 0.14 * Math.sin(Math.PI * Math.min(1, merging * merges.length - at));
    drawStacks(context, board, merges[at].columns, merges[at].place, merging < 1 ? swell : 1);
  }
  if (!view.won) {
    const fresh = Kit.easeOut(progress);
    drawBlock(context, board, HAND, view.block, 0.5 + 0.5 * fresh);
    drawBlock(context, board, NEXT, view.next, 0.62);
  }
  if (view.won) drawHalo(context, board, view, Kit.easeOut(progress));
  if (view.lost) {
    context.fillStyle = "rgba(10, 30, 66, 0.5)";
    context.beginPath();
    context.roundRect(board.x, board.y + cell, COLUMNS * cell, HEIGHT * cell, cell * 0.2);
    context.fill();
  }
  Kit.hud(stage, THEME, {
    title: ["Merge", `and double to ${view.target}`],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Score", view.score]],
    hint: "Click a column to drop the block. Equal blocks that touch become one and double. Do not fill all columns.",
    notice: (view.won && `${view.target}! Well merged`) || (view.lost && "All columns are full"),
  });
};

// The still part: five lanes, and the word above the next block.
const drawLanes = (context, board) => {
  const { cell } = board;
  for (let column = 0; column < COLUMNS; column++) {
    const x = board.x + (column + 0.03) * cell;
    const lane = context.createLinearGradient(0, board.y + cell, 0, board.y + board.height);
    lane.addColorStop(0, "rgba(255, 255, 255, 0.35)");
    lane.addColorStop(1, "rgba(255, 255, 255, 0.75)");
    context.fillStyle = lane;
    context.beginPath();
    context.roundRect(x, board.y + cell * 1.03, cell * 0.94, HEIGHT * cell, cell * 0.18);
    context.fill();
  }
  const x = board.x + (NEXT[0] + 0.5) * cell;
  Kit.text(context, "Next", x, board.y + cell * 0.86, cell * 0.15, THEME.soft, { align: "center" });
};

const drawStacks = (context, board, columns, grown, scale) => columns.forEach((stack, column) =>
  stack.forEach((block, row) => {
    const here = grown && grown[0] === column && grown[1] === row;
    drawBlock(context, board, [column, HEIGHT - row], block, here ? scale : 1);
  }));

// A block as a candy: a darker side below, a face with light from above, its number.
const drawBlock = (context, board, [column, row], block, scale) => {
  const { cell } = board, side = cell * 0.88 * scale, color = colorOf(block);
  const x = board.x + (column + 0.5) * cell, y = board.y + (row + 0.5) * cell;
  const box = (top, height, fill) => {
    context.fillStyle = fill;
    context.beginPath();
    context.roundRect(x - side / 2, top, side, height, side * 0.2);
    context.fill();
  };
  context.save();
  context.shadowColor = "rgba(15, 45, 95, 0.35)";
  context.shadowBlur = cell * 0.1;
  context.shadowOffsetY = cell * 0.04;
  box(y - side / 2, side, color);
  context.restore();
  box(y - side / 2, side, "rgba(8, 20, 60, 0.25)");
  box(y - side / 2, side * 0.92, color);
  const light = context.createLinearGradient(0, y - side / 2, 0, y + side / 2);
  light.addColorStop(0, "rgba(255, 255, 255, 0.42)");
  light.addColorStop(0.55, "rgba(255, 255, 255, 0)");
  box(y - side / 2, side * 0.92, light);
  const size = side * [0.44, 0.4, 0.32, 0.25, 0.21][String(block).length - 1];
  Kit.text(context, String(block), x, y - size / 2 - side * 0.03, size, "#ffffff", { align: "center", weight: 0.19 });
};

// The win: light around the block that reached the target.
const drawHalo = (context, board, { columns, target }, eased) => {
  const column = columns.findIndex((stack) => stack.some((block) => block >= target));
  const row = HEIGHT - columns[column].findIndex((block) => block >= target);
  const { cell } = board, side = cell * (0.88 + 0.12 * eased);
  context.save();
  context.strokeStyle = "#ffffff";
  context.shadowColor = THEME.accent;
  context.shadowBlur = cell * 0.5 * eased;
  context.lineWidth = cell * 0.07;
  context.beginPath();
  const inset = (cell - side) / 2;
  context.roundRect(board.x + column * cell + inset, board.y + row * cell + inset, side, side, side * 0.2);
  context.stroke();
  context.restore();
};
