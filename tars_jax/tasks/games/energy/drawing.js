// How Energy looks: graphite plates, copper that begins to glow, lamps in the dark.
"use strict";

const THEME = {
  glow: 0.9, top: "#23262e", bottom: "#0f1115", halo: "255, 214, 102", haloStrength: 0.1,
  card: "rgba(255, 255, 255, 0.06)", accent: "#ffcf4d", ink: "#fdf6e3", soft: "#9aa1ad",
};
const PLATE = "#2b303a", BARE = "#16181d", COLD = "#67707f", HOT = "#ffc02e", CORE = "#fff3c4";
const SOURCE = "#ff6a3d", GLASS = "#414856", SCREW = "#8d96a5";

const drawEnergy = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

const EDGES = [[0, -0.5], [0.5, 0], [0, 0.5], [-0.5, 0]];

const eachTile = ({ tiles, powered }, visit) =>
  tiles.forEach((line, row) => line.forEach((tile, column) => visit(tile, column, row, powered[row][column])));

// Draws with the centre of a tile as origin and its side as unit.
const atTile = (context, board, column, row, angle, paint) => {
  context.save();
  context.translate(board.x + (column + 0.5) * board.cell, board.y + (row + 0.5) * board.cell);
  context.rotate(angle);
  context.scale(board.cell, board.cell);
  paint();
  context.restore();
};

const strokeWires = (context, { wires }, width, color) => {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  EDGES.forEach(([x, y], bit) => {
    if (!(wires & (1 << bit))) return;
    context.moveTo(0, 0);
    context.lineTo(x, y);
  });
  context.stroke();
};

const disc = (context, radius, color) => {
  context.fillStyle = color;
  context.beginPath();
  context.arc(0, 0, radius, 0, 2 * Math.PI);
  context.fill();
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  context.fillStyle = view.won ? CORE : "#000000";
  context.fillRect(0, 0, canvas.width, canvas.height);
  eachTile(view, (tile, column, row, powered) => {
    const { cell } = board, x = board.x + column * cell, y = board.y + row * cell;
    context.fillStyle = tile.kind === "empty" ? BARE : PLATE;
    context.fillRect(x, y, cell - 1, cell - 1);
    if (tile.fixed) {
      const screw = Math.max(2, Math.round(cell / 8));
      context.fillStyle = "#ffffff";
      for (const [dx, dy] of [[0, 0], [1, 0], [0, 1], [1, 1]]) {
        context.fillRect(x + dx * (cell - 1 - screw), y + dy * (cell - 1 - screw), screw, screw);
      }
    }
    atTile(context, board, column, row, 0, () => {
      strokeWires(context, tile, 0.22, powered ? HOT : COLD);
      if (tile.kind === "wire") disc(context, 0.11, powered ? HOT : COLD);
      if (tile.kind === "source") {
        context.fillStyle = SOURCE;
        context.fillRect(-0.28, -0.28, 0.56, 0.56);
      } else if (tile.kind === "lamp") {
        disc(context, 0.32, powered ? HOT : COLD);
        disc(context, 0.2, powered ? "#ffffff" : "#000000");
      }
    });
  });
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  Kit.backdrop(stage, THEME, (still) => drawPlates(still, board, view));
  const eased = Kit.easeOut(progress);
  const angleOf = (column, row) =>
    view.last && view.last[0] === column && view.last[1] === row ? (eased - 1) * (Math.PI / 2) : 0;
  eachTile(view, (tile, column, row, powered) => atTile(context, board, column, row, angleOf(column, row), () => {
    if (powered) strokeWires(context, tile, view.won ? 0.42 : 0.34, "rgba(255, 176, 32, 0.16)");
    strokeWires(context, tile, 0.17, powered ? HOT : "#4a515e");
    strokeWires(context, tile, 0.07, powered ? CORE : COLD);
    if (tile.kind === "wire") disc(context, 0.085, powered ? HOT : "#4a515e");
    if (tile.kind === "wire") disc(context, 0.035, powered ? CORE : COLD);
  }));
  eachTile(view, ({ kind }, column, row, powered) => atTile(context, board, column, row, 0, () => {
    if (kind === "source") drawSource(context);
    if (kind === "lamp") drawLamp(context, powered, view.won ? eased : 0);
  }));
  Kit.hud(stage, THEME, {
    title: ["Energy", "Light every lamp"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Lamps", `${view.lit}/${view.lamps}`]],
    hint: "Click a tile to turn it by a quarter. Lead the power to every lamp. Screwed tiles stay.",
    notice: view.won && "All lamps shine!",
  });
};

// The still parts: a plate under every tile, with screws in its corners where it does not turn.
const drawPlates = (context, board, view) => eachTile(view, ({ kind, fixed }, column, row) => {
  atTile(context, board, column, row, 0, () => {
    context.fillStyle = kind === "empty" ? "rgba(0, 0, 0, 0.22)" : PLATE;
    context.beginPath();
    context.roundRect(-0.47, -0.47, 0.94, 0.94, 0.13);
    context.fill();
    if (kind === "empty") return;
    context.strokeStyle = "rgba(255, 255, 255, 0.07)";
    context.lineWidth = 0.02;
    context.stroke();
    if (!fixed) return;
    for (const [x, y] of [[-0.36, -0.36], [0.36, -0.36], [-0.36, 0.36], [0.36, 0.36]]) {
      context.save();
      context.translate(x, y);
      disc(context, 0.055, SCREW);
      context.strokeStyle = PLATE;
      context.beginPath();
      context.moveTo(-0.03, -0.03);
      context.lineTo(0.03, 0.03);
      context.stroke();
      context.restore();
    }
  });
});

// The source: an ember with a bolt.
const drawSource = (context) => {
  const ember = context.createRadialGradient(0, -0.08, 0.03, 0, 0, 0.32);
  ember.addColorStop(0, "#ff9b5c");
  ember.addColorStop(1, "#e0452a");
  context.fillStyle = "rgba(255, 122, 60, 0.22)";
  context.beginPath();
  context.arc(0, 0, 0.4, 0, 2 * Math.PI);
  context.fill();
  disc(context, 0.31, ember);
  context.fillStyle = "#fff6df";
  context.beginPath();
  for (const [x, y] of [[0.05, -0.22], [-0.13, 0.04], [-0.01, 0.04], [-0.05, 0.22], [0.13, -0.05], [0.01, -0.05]]) {
    context.lineTo(x, y);
  }
  context.fill();
};

// A lamp: glass over a socket; `burst` from 0 to 1 opens the rays of the win.
const drawLamp = (context, lit, burst) => {
  if (lit) {
    const light = context.createRadialGradient(0, 0, 0.1, 0, 0, 0.62);
    light.addColorStop(0, "rgba(255, 214, 102, 0.75)");
    light.addColorStop(1, "rgba(255, 190, 60, 0)");
    disc(context, 0.62, light);
  }
  disc(context, 0.29, lit ? "#a86a00" : "#4a515e");
  const glass = context.createRadialGradient(-0.07, -0.09, 0.02, 0, 0, 0.25);
  glass.addColorStop(0, lit ? "#ffffff" : "#6d7687");
  glass.addColorStop(1, lit ? "#ffd24d" : GLASS);
  disc(context, 0.245, glass);
  context.strokeStyle = lit ? "#e08a00" : "#9aa3b2";
  context.lineWidth = 0.03;
  context.lineJoin = "round";
  context.beginPath();
  for (const [x, y] of [[-0.1, 0.1], [-0.06, -0.05], [0, 0.05], [0.06, -0.05], [0.1, 0.1]]) context.lineTo(x, y);
  context.stroke();
  if (!burst) return;
  context.strokeStyle = `rgba(255, 226, 140, ${0.9 * burst})`;
  context.beginPath();
  for (let ray = 0; ray < 8; ray++) {
    const angle = ((ray + 0.5) * Math.PI) / 4, far = 0.34 + 0.12 * burst;
    context.moveTo(Math.cos(angle) * 0.34, Math.sin(angle) * 0.34);
    context.lineTo(Math.cos(angle) * far, Math.sin(angle) * far);
  }
  context.stroke();
};
