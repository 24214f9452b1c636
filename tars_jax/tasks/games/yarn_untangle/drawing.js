// How Yarn Untangle looks: balls of wool on a stitched cloth. Threads that cross are raspberry, free ones are green.
"use strict";

const THEME = {
  glow: 0, top: "#f6edf9", bottom: "#d9c4e6", halo: "255, 255, 255", haloStrength: 0.8, card: "rgba(92, 44, 104, 0.1)",
  accent: "#c2296a", ink: "#4a2a55", soft: "#7d6088",
};
const CLOTH = "#fdf6ec", HOLE = "#eaddd3", CROSSED = "#e0336f", FREE = "#2f9e82", GROUND = "#2b1d36";
const WOOL = ["#f2a33c", "#6f8fe8", "#e8735a", "#8a63c9", "#47b0c4", "#d98ab8", "#93b23f", "#b0764a"];

const drawYarn = (stage, progress, view) => {
  const hot = new Set(view.crossed.flat());
  const at = view.balls.map((ball, index) => placeOf(view, ball, index, progress));
  if (stage.layout.mode === "compact") drawFlat(stage, view, at, hot);
  else drawSoft(stage, progress, view, at, hot);
};

// Where a ball is drawn, in cells: its place, under the pointer, or on its way from there to its place.
const placeOf = ({ carried, dropped }, ball, index, progress) => {
  if (carried?.ball === index) return carried.at;
  if (carried || dropped?.ball !== index) return ball;
  const eased = Kit.easeOut(progress);
  return ball.map((to, axis) => dropped.from[axis] + (to - dropped.from[axis]) * eased);
};

const middle = (board, [column, row]) => [board.x + (column + 0.5) * board.cell, board.y + (row + 0.5) * board.cell];

const stroke = (context, from, to) => {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
};

const disc = (context, color, [x, y], radius) => {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
};

const drawFlat = ({ context, canvas, layout: { board } }, view, at, hot) => {
  context.fillStyle = view.won ? "#1d5a4b" : GROUND;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (let place = 0; place < view.size * view.size; place++) {
    const [x, y] = middle(board, [place % view.size, Math.floor(place / view.size)]);
    context.fillStyle = "#5b4670";
    context.fillRect(Math.round(x) - 1, Math.round(y) - 1, 2, 2);
  }
  context.lineWidth = Math.max(1, board.cell * 0.09);
  for (const crossed of [false, true]) {
    context.strokeStyle = crossed ? "#ff5f8f" : "#5fe0b8";
    view.threads.forEach(([a, b], i) => {
      if (hot.has(i) === crossed) stroke(context, middle(board, at[a]), middle(board, at[b]));
    });
  }
  at.forEach((ball) => disc(context, "#ffe7a3", middle(board, ball), board.cell * 0.28));
};

const paintCloth = (still, board, view) => {
  const { cell } = board, pad = Math.min(cell * 0.2, 14);
  const sheet = (grow) => {
    still.beginPath();
    still.roundRect(board.x - grow, board.y - grow, board.width + 2 * grow, board.height + 2 * grow, 18 + grow);
  };
  still.save();
  still.shadowColor = "rgba(74, 42, 85, 0.35)";
  still.shadowBlur = 26;
  still.shadowOffsetY = 8;
  still.fillStyle = CLOTH;
  sheet(pad);
  still.fill();
  still.restore();
  still.strokeStyle = "#d7a9c4";
  still.lineWidth = 2.5;
  still.lineCap = "round";
  still.setLineDash([9, 8]);
  sheet(pad - 7);
  still.stroke();
  still.setLineDash([]);
  for (let place = 0; place < view.size * view.size; place++) {
    disc(still, HOLE, middle(board, [place % view.size, Math.floor(place / view.size)]), cell * 0.085);
  }
};

const drawSoft = (stage, progress, view, at, hot) => {
  const { context, layout: { board } } = stage;
  const { cell } = board;
  const points = at.map((ball) => middle(board, ball));
  Kit.backdrop(stage, THEME, (still) => paintCloth(still, board, view));
  if (view.carried) markPlace(context, board, view);
  const wide = Math.max(3, Math.min(cell * 0.085, 9));
  view.threads.forEach(([a, b], i) => {
    if (!hot.has(i)) drawThread(context, points[a], points[b], wide, FREE, "#8fdcc4", view.won ? progress : 0);
  });
  view.threads.forEach(([a, b], i) => {
    if (hot.has(i)) drawThread(context, points[a], points[b], wide, CROSSED, "#ffa6c3", 0);
  });
  points.forEach((point, ball) => {
    const held = view.carried ? view.carried.ball === ball : view.dropped?.ball === ball && progress < 1;
    const grown = view.carried ? 0.22 : 0.22 * (1 - progress);
    drawBall(context, point, Math.min(cell * 0.29, 32) * (held ? 1 + grown : 1), WOOL[ball % WOOL.length], held ? grown : 0);
  });
  Kit.hud(stage, THEME, {
    title: ["Yarn", "Untangle"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Crossed", view.crossed.length]],
    hint: "Drag the balls to empty places until no two threads cross. Crossed threads are red.",
    notice: view.won && "All untangled!",
  });
};

// A ring around the empty place that a carried ball would fall to.
const markPlace = (context, board, { carried, balls, size }) => {
  const place = carried.at.map(Math.round);
  const away = place.some((value) => value < 0 || value >= size);
  if (away || balls.some(([column, row]) => column === place[0] && row === place[1])) return;
  context.strokeStyle = "rgba(194, 41, 106, 0.5)";
  context.lineWidth = 3;
  context.beginPath();
  context.arc(...middle(board, place), board.cell * 0.3, 0, 2 * Math.PI);
  context.stroke();
};

// Twisted yarn: a soft shadow, the thread, and a lighter strand that winds round it.
const drawThread = (context, [ax, ay], [bx, by], wide, color, light, glow) => {
  context.lineCap = "round";
  context.strokeStyle = "rgba(74, 42, 85, 0.16)";
  context.lineWidth = wide;
  stroke(context, [ax + 1, ay + wide * 0.6], [bx + 1, by + wide * 0.6]);
  context.save();
  if (glow) {
    context.shadowColor = "#ffd34d";
    context.shadowBlur = 14 * glow;
  }
  context.strokeStyle = color;
  stroke(context, [ax, ay], [bx, by]);
  context.restore();
  context.strokeStyle = light;
  context.lineWidth = wide * 0.3;
  context.setLineDash([wide * 0.7, wide * 0.9]);
  stroke(context, [ax, ay], [bx, by]);
  context.setLineDash([]);
};

// A ball of wool: a shaded disc wound with arcs in three directions.
const drawBall = (context, [x, y], radius, color, lifted) => {
  context.save();
  context.shadowColor = "rgba(60, 30, 70, 0.45)";
  context.shadowBlur = radius * (0.35 + 2 * lifted);
  context.shadowOffsetY = radius * (0.18 + 2 * lifted);
  disc(context, color, [x, y], radius);
  context.restore();
  context.save();
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.clip();
  const light = context.createRadialGradient(x - radius * 0.4, y - radius * 0.45, 0, x, y, radius * 1.1);
  light.addColorStop(0, "rgba(255, 255, 255, 0.5)");
  light.addColorStop(0.5, "rgba(255, 255, 255, 0)");
  light.addColorStop(1, "rgba(50, 16, 60, 0.35)");
  disc(context, light, [x, y], radius);
  context.lineWidth = radius * 0.085;
  context.lineCap = "round";
  for (const [turn, tone] of [[0.5, "rgba(255, 255, 255, 0.4)"], [2.4, "rgba(50, 16, 60, 0.25)"], [4.3, "rgba(255, 255, 255, 0.3)"]]) {
    context.strokeStyle = tone;
    for (const shift of [0.75, 1, 1.25]) {
      context.beginPath();
      context.arc(x + Math.cos(turn) * radius * shift, y + Math.sin(turn) * radius * shift, radius * 0.95, turn + 2.2, turn + 4.1);
      context.stroke();
    }
  }
  context.restore();
};
