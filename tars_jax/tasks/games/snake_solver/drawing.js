// How Snake Solver looks: a garden of warm sand, clay walls, an emerald snake, apples and a burrow to leave by.
"use strict";

const THEME = {
  glow: 0, top: "#fff3d6", bottom: "#f2cf94", halo: "255, 255, 240", haloStrength: 0.8, card: "rgba(122, 70, 20, 0.12)",
  accent: "#0b8a5c", ink: "#5a3413", soft: "#8d6238",
};
const SAND = "#f6e0ae", SAND_DARK = "#efd39a", WALL = "#a4552f", WALL_TOP = "#c87848";
const SKIN = "#17a06c", HEAD = "#0c6e4b", DEAD = "#7c8078", FRUIT = "#e0293f", HOLE = "#3c2413", OPEN = "#2f7cf0";

const drawGarden = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

const middle = (board, [column, row]) => [board.x + (column + 0.5) * board.cell, board.y + (row + 0.5) * board.cell];

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const box = ([column, row], inset, color) => {
    context.fillStyle = color;
    context.fillRect(board.x + column * cell + inset, board.y + row * cell + inset, cell - 2 * inset, cell - 2 * inset);
  };
  context.fillStyle = view.won ? "#ffffff" : "#000000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = SAND;
  context.fillRect(board.x, board.y, board.width, board.height);
  view.walls.forEach((wall) => box(wall, 0, WALL));
  box(view.exit, 1, HOLE);
  if (!view.fruits.length) box(view.exit, Math.round(cell * 0.25), OPEN);
  view.fruits.forEach((fruit) => dot(context, FRUIT, ...middle(board, fruit), cell * 0.32));
  strokeBody(context, board, view.body, 0.6, view.lost ? DEAD : SKIN);
  const tail = view.body.at(-1);
  box(tail, Math.round(cell * 0.38), SAND);
  dot(context, view.lost ? "#000000" : HEAD, ...middle(board, view.body[0]), cell * 0.42);
  dot(context, "#ffffff", ...middle(board, view.body[0]), Math.max(1, cell * 0.16));
};

const dot = (context, color, x, y, radius) => {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
};

const strokeBody = (context, board, cells, width, color) => {
  context.strokeStyle = color;
  context.lineWidth = board.cell * width;
  context.lineCap = context.lineJoin = "round";
  context.beginPath();
  cells.forEach((cell, index) => context[index ? "lineTo" : "moveTo"](...middle(board, cell)));
  context.stroke();
};

const paintGround = (still, board, view) => {
  const { cell } = board, pad = cell * 0.14;
  still.save();
  still.shadowColor = "rgba(110, 62, 16, 0.35)";
  still.shadowBlur = cell * 0.3;
  still.shadowOffsetY = cell * 0.08;
  still.fillStyle = "#d9ae6c";
  still.beginPath();
  still.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.24);
  still.fill();
  still.restore();
  for (let place = 0; place < view.size * view.size; place++) {
    const column = place % view.size, row = Math.floor(place / view.size);
    still.fillStyle = (column + row) % 2 ? SAND_DARK : SAND;
    still.fillRect(board.x + column * cell, board.y + row * cell, cell, cell);
  }
  view.walls.forEach((wall) => paintWall(still, middle(board, wall), cell));
};

// A block of clay: its shadow, its front, its top.
const paintWall = (still, [x, y], cell) => {
  const half = cell * 0.48;
  const block = (top, bottom, color) => {
    still.fillStyle = color;
    still.beginPath();
    still.roundRect(x - half, y + top, 2 * half, bottom - top, cell * 0.14);
    still.fill();
  };
  still.save();
  still.shadowColor = "rgba(96, 48, 12, 0.45)";
  still.shadowBlur = cell * 0.14;
  still.shadowOffsetY = cell * 0.06;
  block(-half, half, WALL);
  still.restore();
  block(-half, half - cell * 0.16, WALL_TOP);
  still.fillStyle = "rgba(255, 226, 190, 0.28)";
  still.fillRect(x - half * 0.7, y - half * 0.72, half * 0.8, cell * 0.07);
  still.fillRect(x + half * 0.1, y - half * 0.2, half * 0.6, cell * 0.06);
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  Kit.backdrop(stage, THEME, (still) => paintGround(still, board, view));
  drawBurrow(context, middle(board, view.exit), cell, view.fruits.length === 0, view.won ? progress : 0);
  view.fruits.forEach((fruit) => drawApple(context, middle(board, fruit), cell, 1));
  const eaten = view.previous.fruits.filter((fruit) => !includesCell(view.fruits, fruit));
  if (progress < 0.7) eaten.forEach((fruit) => drawApple(context, middle(board, fruit), cell, 1 - progress));
  drawSnake(context, board, Kit.easeOut(progress), view);
  if (view.won) drawSparks(context, middle(board, view.exit), cell, Kit.easeOut(progress));
  Kit.hud(stage, THEME, {
    title: ["Snake", "Solver"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Fruits", `${view.total - view.fruits.length}/${view.total}`]],
    hint: "Arrow keys, a drag, or a click beside the head. Eat every fruit, then leave by the burrow.",
    notice: (view.won && "Every fruit eaten!") || (view.lost && "The snake is stuck"),
  });
};

const drawBurrow = (context, [x, y], cell, open, won) => {
  if (open) {
    const light = context.createRadialGradient(x, y, cell * 0.1, x, y, cell * (0.75 + 0.4 * won));
    light.addColorStop(0, "rgba(60, 140, 255, 0.75)");
    light.addColorStop(1, "rgba(60, 140, 255, 0)");
    dot(context, light, x, y, cell * (0.75 + 0.4 * won));
  }
  dot(context, open ? "#8fc0ff" : "#b98a50", x, y, cell * 0.42);
  dot(context, open ? "#153a78" : HOLE, x, y + cell * 0.02, cell * 0.33);
  if (open) return;
  context.strokeStyle = "#c9a06a";
  context.lineWidth = cell * 0.075;
  context.lineCap = "round";
  context.beginPath();
  for (const across of [-0.16, 0, 0.16]) {
    const half = across ? 0.26 : 0.32;
    context.moveTo(x + cell * across, y - cell * half);
    context.lineTo(x + cell * across, y + cell * half);
  }
  context.stroke();
};

const drawApple = (context, [x, y], cell, scale) => {
  context.save();
  context.translate(x, y);
  context.scale(cell * scale, cell * scale);
  dot(context, "rgba(110, 62, 16, 0.25)", 0.02, 0.1, 0.3);
  const skin = context.createRadialGradient(-0.1, -0.08, 0.02, 0, 0.04, 0.34);
  skin.addColorStop(0, "#ff7a7a");
  skin.addColorStop(0.5, FRUIT);
  skin.addColorStop(1, "#b0142c");
  context.fillStyle = skin;
  context.fill(new Path2D("M0 -.16C.12 -.28 .32 -.2 .32 .03C.32 .24 .14 .36 0 .3C-.14 .36 -.32 .24 -.32 .03C-.32 -.2 -.12 -.28 0 -.16Z"));
  context.fillStyle = "#3f9a3a";
  context.fill(new Path2D("M.02 -.22C.06 -.38 .2 -.4 .28 -.37C.26 -.26 .14 -.18 .02 -.22Z"));
  context.strokeStyle = "#6b4422";
  context.lineWidth = 0.05;
  context.stroke(new Path2D("M0 -.15Q-.01 -.26 -.06 -.32"));
  context.restore();
};

// The body on its way: the head and the end of the tail are between two cells, all others stay where the snake has been.
const bodyAt = ({ body, previous }, eased) => {
  const between = (from, to) => from.map((value, axis) => value + (to[axis] - value) * eased);
  if (body === previous.body) return body;
  const tail = between(previous.body.at(-1), body.at(-1));
  return [between(previous.body[0], body[0]), ...body.slice(1, -1), body.at(-1), tail];
};

const drawSnake = (context, board, eased, view) => {
  const { cell } = board, cells = bodyAt(view, eased);
  context.save();
  context.shadowColor = "rgba(90, 50, 10, 0.4)";
  context.shadowBlur = cell * 0.12;
  context.shadowOffsetY = cell * 0.06;
  strokeBody(context, board, cells, 0.62, view.lost ? "#5d615a" : "#0e7c55");
  context.restore();
  strokeBody(context, board, cells, 0.5, view.lost ? DEAD : SKIN);
  context.setLineDash([cell * 0.001, cell * 0.5]);
  strokeBody(context, board, cells, 0.2, view.lost ? "#9a9e95" : "#7be0a8");
  context.setLineDash([]);
  const [dx, dy] = [cells[0][0] - cells[1][0], cells[0][1] - cells[1][1]];
  drawHead(context, middle(board, cells[0]), cell, Math.atan2(dy, dx), view);
};

const drawHead = (context, [x, y], cell, angle, { lost, won }) => {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.scale(cell, cell);
  if (!lost && !won) {
    context.strokeStyle = "#d2304a";
    context.lineWidth = 0.045;
    context.lineCap = "round";
    context.stroke(new Path2D("M.3 0H.47M.47 0L.54 -.06M.47 0L.54 .06"));
  }
  context.fillStyle = lost ? "#5d615a" : HEAD;
  context.beginPath();
  context.ellipse(0.02, 0, 0.39, 0.35, 0, 0, 2 * Math.PI);
  context.fill();
  for (const side of [-0.17, 0.17]) {
    dot(context, "#ffffff", 0.12, side, 0.105);
    if (!lost) dot(context, "#1c1408", 0.155, side, 0.055);
    else {
      context.strokeStyle = "#1c1408";
      context.lineWidth = 0.04;
      context.stroke(new Path2D(`M.06 ${side - 0.06}L.18 ${side + 0.06}M.18 ${side - 0.06}L.06 ${side + 0.06}`));
    }
  }
  context.restore();
};

// The win: drops of light that leave the burrow and stay.
const drawSparks = (context, [x, y], cell, eased) => {
  for (let spark = 0; spark < 14; spark++) {
    const angle = (spark * Math.PI) / 7, far = cell * (spark % 2 ? 0.85 : 1.15) * eased;
    const color = ["#2f7cf0", "#e0293f", "#ffc83d", SKIN][spark % 4];
    dot(context, color, x + Math.cos(angle) * far, y + Math.sin(angle) * far, cell * 0.075 * eased);
  }
};
