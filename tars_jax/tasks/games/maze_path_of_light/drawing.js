// How the maze looks: flat blocks on a compact stage, soft light on a large one.
"use strict";

const drawMaze = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// Closed edges as [x, y, vertical], in cells, from the corner where they begin; the frame included.
const closedEdges = ({ open }) => {
  const edges = [];
  open.forEach((line, row) => line.forEach((ways, column) => {
    if (!ways.has("right")) edges.push([column + 1, row, true]);
    if (!ways.has("down")) edges.push([column, row + 1, false]);
    if (column === 0) edges.push([0, row, true]);
    if (row === 0) edges.push([column, 0, false]);
  }));
  return edges;
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board;
  const half = Math.max(1, Math.round(cell / 8));
  const box = ([column, row], inset, color) => {
    context.fillStyle = color;
    context.fillRect(board.x + column * cell + inset, board.y + row * cell + inset, cell - 2 * inset, cell - 2 * inset);
  };
  context.fillStyle = "#000000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = FLOOR;
  context.fillRect(board.x, board.y, board.width, board.height);
  view.visited.forEach((at) => box(at, 0, TRAIL));
  context.fillStyle = WALL;
  for (const [x, y, vertical] of closedEdges(view)) {
    const left = board.x + x * cell - half, top = board.y + y * cell - half;
    context.fillRect(left, top, vertical ? 2 * half : cell + 2 * half, vertical ? cell + 2 * half : 2 * half);
  }
  box(view.exit, Math.round(cell * 0.2), EXIT);
  if (!view.won) box(view.exit, Math.round(cell * 0.38), FLOOR);
  context.fillStyle = LIGHT;
  context.beginPath();
  context.arc(board.x + (view.player[0] + 0.5) * cell, board.y + (view.player[1] + 0.5) * cell, cell * 0.3, 0, 2 * Math.PI);
  context.fill();
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  const pad = Math.round(cell * 0.12);
  Kit.backdrop(stage, THEME, (still) => {
    still.fillStyle = FLOOR;
    still.beginPath();
    still.roundRect(board.x - pad, board.y - pad, board.width + 2 * pad, board.height + 2 * pad, cell * 0.28);
    still.fill();
  });
  const eased = Kit.easeOut(progress);
  const at = view.player.map((to, i) => view.previous[i] + (to - view.previous[i]) * eased);
  const center = ([column, row]) => [board.x + (column + 0.5) * cell, board.y + (row + 0.5) * cell];

  context.fillStyle = "rgba(255, 176, 46, 0.13)";
  view.visited.forEach((place) => {
    const [x, y] = center(place);
    context.fillRect(x - cell / 2, y - cell / 2, cell, cell);
  });
  drawTrail(context, view.path.slice(0, -1).concat([at]).map(center), cell, view.won);

  context.strokeStyle = WALL;
  context.lineWidth = Math.max(3, cell * 0.09);
  context.lineCap = "round";
  context.beginPath();
  for (const [x, y, vertical] of closedEdges(view)) {
    context.moveTo(board.x + x * cell, board.y + y * cell);
    context.lineTo(board.x + (x + (vertical ? 0 : 1)) * cell, board.y + (y + (vertical ? 1 : 0)) * cell);
  }
  context.stroke();

  drawExit(context, center(view.exit), cell);
  glow(context, center(at), cell * (view.won ? 1.2 : 0.85), "255, 214, 90", view.won ? 0.75 : 0.55);
  context.fillStyle = LIGHT;
  disc(context, center(at), cell * 0.24);
  context.fillStyle = "#fffbe0";
  disc(context, center(at), cell * 0.12);
  if (view.won) drawRays(context, center(view.exit), cell, eased);

  Kit.hud(stage, THEME, {
    title: ["Maze", "Path of Light"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Best", view.startDistance]],
    hint: "Click an open cell beside the light, or press an arrow key. Bring the light to the green gate.",
    notice: view.won && "The path is lit!",
  });
};

// The path that the light took: a wide soft stroke under a narrow bright one.
const drawTrail = (context, points, cell, won) => {
  context.lineCap = context.lineJoin = "round";
  for (const [width, color] of [
    [0.5, `rgba(255, 190, 60, ${won ? 0.3 : 0.2})`], [0.26, `rgba(255, 200, 80, ${won ? 0.55 : 0.35})`],
    [0.1, won ? "#fff3b0" : "#ffcf52"],
  ]) {
    context.strokeStyle = color;
    context.lineWidth = cell * width;
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  }
};

const disc = (context, [x, y], radius) => {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
};

const glow = (context, [x, y], radius, rgb, strength) => {
  const light = context.createRadialGradient(x, y, 0, x, y, radius);
  light.addColorStop(0, `rgba(${rgb}, ${strength})`);
  light.addColorStop(1, `rgba(${rgb}, 0)`);
  context.fillStyle = light;
  disc(context, [x, y], radius);
};

const drawExit = (context, [x, y], cell) => {
  glow(context, [x, y], cell * 0.62, "46, 230, 160", 0.45);
  context.strokeStyle = EXIT;
  context.lineWidth = cell * 0.1;
  context.beginPath();
  context.roundRect(x - cell * 0.25, y - cell * 0.25, cell * 0.5, cell * 0.5, cell * 0.1);
  context.stroke();
};

// The win: twelve rays that open from the gate and stay.
const drawRays = (context, [x, y], cell, eased) => {
  context.strokeStyle = LIGHT;
  context.lineWidth = cell * 0.05;
  context.lineCap = "round";
  context.beginPath();
  for (let ray = 0; ray < 12; ray++) {
    const angle = (ray * Math.PI) / 6, far = cell * (0.42 + (ray % 2 ? 0.32 : 0.5) * eased);
    context.moveTo(x + Math.cos(angle) * cell * 0.42, y + Math.sin(angle) * cell * 0.42);
    context.lineTo(x + Math.cos(angle) * far, y + Math.sin(angle) * far);
  }
  context.stroke();
};
