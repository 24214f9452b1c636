// Sokoban: the worker pushes boxes, one at a time, and pulls none.
"use strict";

const SIGNS = "# ?$*@+";

// A level from its text: {walls, targets, boxes: sets of "row,column", worker: [row, column], rows, columns}.
const readLevel = (text) => {
  const lines = text.replaceAll(".", "?").split("\n").filter((line) => line.trim());
  const walls = new Set(), targets = new Set(), boxes = new Set(), workers = [];
  lines.forEach((line, row) => [...line].forEach((sign, column) => {
    if (!SIGNS.includes(sign)) throw new RangeError(`option levels takes the signs ${SIGNS} and ., got ${JSON.stringify(sign)}`);
    const place = `${row},${column}`;
    if (sign === "#") walls.add(place);
    if ("?*+".includes(sign)) targets.add(place);
    if ("$*".includes(sign)) boxes.add(place);
    if ("@+".includes(sign)) workers.push([row, column]);
  }));
  if (workers.length !== 1 || boxes.size === 0 || boxes.size > targets.size) {
    throw new RangeError(`option levels takes one worker and no fewer targets than boxes in a level, got\n${text}`);
  }
  return { walls, targets, boxes, worker: workers[0], rows: lines.length, columns: Math.max(...lines.map((line) => line.length)) };
};

const onTarget = (level) => [...level.boxes].filter((place) => level.targets.has(place)).length;

// The level after a step; the same one where a wall or a box that cannot move is in the way.
const step = (level, direction) => {
  const [across, down] = Kit.DIRECTIONS[direction];
  const [row, column] = level.worker;
  const next = [row + down, column + across], beyond = `${row + 2 * down},${column + 2 * across}`;
  const inside = next[0] >= 0 && next[1] >= 0 && next[0] < level.rows && next[1] < level.columns;
  if (!inside || level.walls.has(`${next}`)) return level;
  if (!level.boxes.has(`${next}`)) return { ...level, worker: next };
  const [beyondRow, beyondColumn] = beyond.split(",").map(Number);
  const held = beyondRow < 0 || beyondColumn < 0 || beyondRow >= level.rows || beyondColumn >= level.columns;
  if (held || level.walls.has(beyond) || level.boxes.has(beyond)) return level;
  const boxes = new Set(level.boxes);
  boxes.delete(`${next}`);
  boxes.add(beyond);
  return { ...level, boxes, worker: next };
};

// The level as rows of signs.
const written = (level) => Array.from({ length: level.rows }, (_, row) =>
  Array.from({ length: level.columns }, (_, column) => {
    const place = `${row},${column}`, target = level.targets.has(place);
    if (level.walls.has(place)) return "#";
    if (level.boxes.has(place)) return target ? "*" : "$";
    if (`${level.worker}` === place) return target ? "+" : "@";
    return target ? "?" : " ";
  }).join(""));
