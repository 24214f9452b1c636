// How Emoji Sort Master looks: glass tubes of faces in a violet evening.
"use strict";

const THEME = {
  glow: 0.7, top: "#5a2f96", bottom: "#2a1457", halo: "255, 150, 220", haloStrength: 0.22,
  card: "rgba(255, 255, 255, 0.1)", accent: "#ffd84d", ink: "#ffffff", soft: "#d8c4f2",
};
const FLAT_GROUND = "#2a1457", FLAT_TUBE = "#0d0620", FLAT_CHOSEN = "#8d93a8", FLAT_FINISHED = "#5b0f3c";

const tubesInRow = (count) => (count <= 6 ? count : Math.ceil(count / 2));

// A square board: one row of tubes with a cell above it for faces that are lifted, or two such rows.
const gridFor = (count, capacity) => {
  const side = count <= 6 ? Math.max(6, capacity + 2) : 2 * (capacity + 1);
  return [side, side];
};

// The middle of the lowest face of a tube, [column, row] in cells.
const tubeBottom = (count, capacity, index) => {
  const [side] = gridFor(count, capacity), across = tubesInRow(count), line = Math.floor(index / across);
  const inLine = Math.min(across, count - line * across), pitch = side / across;
  const column = ((index % across) + 0.5 + (across - inLine) / 2) * pitch;
  return [column, count <= 6 ? side - 1.5 : (line + 1) * (capacity + 1) - 0.5];
};

// Half the width of a tube, in cells.
const girth = (count, capacity) => Math.min(0.52, (gridFor(count, capacity)[0] / tubesInRow(count)) * 0.465);

const tubeMiddle = (count, capacity, index) => {
  const [column, row] = tubeBottom(count, capacity, index);
  return [column - 0.5, row - (capacity - 1) / 2 - 0.5];
};

// The tube under a pixel, or null; a tube takes clicks all around it.
const tubeAt = (board, count, capacity, x, y) => {
  const column = (x - board.x) / board.cell, row = (y - board.y) / board.cell;
  const [side] = gridFor(count, capacity), reach = side / tubesInRow(count) / 2;
  for (let i = 0; i < count; i++) {
    const [middle, bottom] = tubeBottom(count, capacity, i);
    const above = bottom - row;
    if (Math.abs(column - middle) < reach && above > -1 && above < capacity + 0.5) return i;
  }
  return null;
};

const drawTubes = (stage, progress, view) => {
  if (stage.layout.mode === "compact") drawFlat(stage, view);
  else drawSoft(stage, progress, view);
};

// Where face number `slot` of a tube is seen, in cells; the lifted ones hover above the tube, as a compact group.
const facePlace = (view, index, slot, lift) => {
  const [column, bottom] = tubeBottom(view.tubes.length, view.capacity, index);
  const { length } = view.tubes[index], run = topRun(view.tubes[index]);
  const hover = slot >= length - run ? lift * (view.capacity - length + 0.85 / run) : 0;
  return [column, bottom - slot - hover];
};

const drawFlat = ({ context, canvas, layout: { board } }, view) => {
  const { cell } = board, radius = cell * 0.46;
  context.fillStyle = view.lost ? "#000000" : FLAT_GROUND;
  context.fillRect(0, 0, canvas.width, canvas.height);
  view.tubes.forEach((tube, index) => {
    const [column, bottom] = tubeBottom(view.tubes.length, view.capacity, index);
    const chosen = view.selected === index, finished = isFinished(tube, view.capacity);
    context.fillStyle = chosen ? FLAT_CHOSEN : finished ? FLAT_FINISHED : FLAT_TUBE;
    const left = Math.round(board.x + (column - 0.5) * cell), top = board.y + (bottom - view.capacity + 0.5) * cell;
    context.fillRect(left, Math.round(top), cell - 1, view.capacity * cell);
    tube.forEach((kind, slot) => {
      const [x, y] = facePlace(view, index, slot, chosen ? 1 : 0);
      drawFlatFace(context, kind, board.x + x * cell - 0.5, board.y + y * cell, radius);
    });
  });
};

const drawSoft = (stage, progress, view) => {
  const { context, layout: { board } } = stage;
  const { cell } = board, eased = Kit.easeOut(progress), last = view.last || {};
  const radius = cell * (girth(view.tubes.length, view.capacity) - 0.075);
  Kit.backdrop(stage, THEME);
  view.tubes.forEach((tube, index) => drawGlass(context, board, view, index));
  const flying = [];
  view.tubes.forEach((tube, index) => tube.forEach((kind, slot) => {
    const lift = view.selected === index ? eased : last.lowered === index ? 1 - eased : 0;
    const place = facePlace(view, index, slot, lift);
    if (last.to === index && slot >= last.before[index].length) flying.push([kind, slot, place]);
    else drawFace(context, kind, board.x + place[0] * cell, board.y + place[1] * cell, radius);
  }));
  for (const [kind, slot, place] of flying) {
    const [x, y] = flightPlace(view, slot, place, eased);
    drawFace(context, kind, board.x + x * cell, board.y + y * cell, radius);
  }
  view.tubes.forEach((tube, index) => drawShine(context, board, view, index));
  if (view.lost) {
    context.fillStyle = "rgba(20, 6, 45, 0.55)";
    context.beginPath();
    context.roundRect(board.x, board.y, board.width, board.height, cell * 0.4);
    context.fill();
  }
  Kit.hud(stage, THEME, {
    title: ["Emoji Sort", "Master"],
    numbers: [["Level", view.level], ["Moves", view.moves], ["Sorted", `${view.finished}/${view.kinds}`]],
    hint: "Click a tube, then another: the faces on top go onto their own kind or into an empty tube. Sort them all.",
    notice: (view.won && "All smiles!") || (view.lost && "No move is left"),
  });
};

// A poured face on its way: it rises from above its old tube and falls into its new one.
const flightPlace = (view, slot, place, eased) => {
  const { from, to, before } = view.last;
  const [startX, bottom] = tubeBottom(view.tubes.length, view.capacity, from);
  const startY = bottom - view.capacity - 0.3 - 0.4 * (slot - before[to].length);
  const x = startX + (place[0] - startX) * Math.min(1, eased * 1.6);
  const rise = Math.max(0, eased - 0.5) * 2;
  const mouth = tubeBottom(view.tubes.length, view.capacity, to)[1] - view.capacity;
  const highest = startY + (mouth - 0.3 - startY) * Math.min(1, eased * 2);
  return [x, highest + (place[1] - highest) * rise];
};

// The outline of a tube: straight sides, a round foot, open above.
const tracedTube = (board, view, index) => {
  const { cell } = board, [column, bottom] = tubeBottom(view.tubes.length, view.capacity, index);
  const x = board.x + column * cell, half = cell * girth(view.tubes.length, view.capacity);
  const top = board.y + (bottom - view.capacity + 0.42) * cell, foot = board.y + bottom * cell + cell * 0.02;
  const path = new Path2D();
  path.moveTo(x - half, top);
  path.lineTo(x - half, foot);
  path.arc(x, foot, half, Math.PI, 0, true);
  path.lineTo(x + half, top);
  return { path, x, half, top };
};

const drawGlass = (context, board, view, index) => {
  const { cell } = board, { path, x, half, top } = tracedTube(board, view, index);
  const finished = isFinished(view.tubes[index], view.capacity), chosen = view.selected === index;
  context.save();
  const glass = context.createLinearGradient(x - half, 0, x + half, 0);
  glass.addColorStop(0, "rgba(255, 255, 255, 0.2)");
  glass.addColorStop(0.3, "rgba(255, 255, 255, 0.05)");
  glass.addColorStop(1, "rgba(255, 255, 255, 0.13)");
  context.fillStyle = "rgba(20, 8, 50, 0.42)";
  context.fill(path);
  context.fillStyle = glass;
  context.fill(path);
  context.lineWidth = cell * 0.055;
  context.lineCap = "round";
  context.strokeStyle = finished ? THEME.accent : chosen ? "#ffffff" : "rgba(255, 255, 255, 0.42)";
  if (finished || chosen) {
    context.shadowColor = finished ? THEME.accent : "#ffffff";
    context.shadowBlur = cell * (view.won ? 0.5 : 0.28);
  }
  context.stroke(path);
  context.beginPath();
  context.moveTo(x - half * 1.08, top);
  context.lineTo(x - half, top);
  context.moveTo(x + half, top);
  context.lineTo(x + half * 1.08, top);
  context.stroke();
  context.restore();
};

// A light streak on the glass, in front of the faces.
const drawShine = (context, board, view, index) => {
  const { cell } = board, { x, half, top } = tracedTube(board, view, index);
  context.strokeStyle = "rgba(255, 255, 255, 0.3)";
  context.lineWidth = cell * 0.05;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x - half * 0.82, top + cell * 0.3);
  context.lineTo(x - half * 0.82, top + cell * (view.capacity - 0.75));
  context.stroke();
};
