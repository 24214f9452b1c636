// Boxes of wood in space, seen by an eye above the table and in front of it: a true perspective on a plane parallel to the
// table, so that cells of the board stay squares and what stands on them leans away from the eye.
"use strict";

// [top, grain, front, side, how much light the top throws back] of each kind of wood; the last one is the board's
const TIMBER = [
  ["#e3b06a", "#a8692c", "#a06a30", "#b87d3e", 0.34], ["#cb8150", "#7c3c1c", "#8a4a28", "#a05a34", 0.34],
  ["#f0d29b", "#b98a48", "#b78a4e", "#cda264", 0.34], ["#b07a4c", "#5f3717", "#70441f", "#86552b", 0.34],
  ["#5d3c26", "#2a170b", "#34200f", "#432a17", 0.08],
];
const GRAIN = 256; // pixels on a side of a texture

// Lines of grain that run on over the edges of the texture.
const texture = (kind) => {
  const sheet = document.createElement("canvas");
  sheet.width = sheet.height = GRAIN;
  const context = sheet.getContext("2d", { willReadFrequently: true });
  const random = Kit.random("grain", kind), [top, grain] = TIMBER[kind];
  context.fillStyle = top;
  context.fillRect(0, 0, GRAIN, GRAIN);
  context.strokeStyle = grain;
  for (let line = 0; line < 46; line++) {
    const y = random.next() * GRAIN, swing = 2 + random.next() * 7, turn = random.next() * 6.28, waves = random.between(1, 2);
    context.globalAlpha = 0.06 + random.next() * 0.2;
    context.lineWidth = 0.7 + random.next() * 2.6;
    for (const shift of [-GRAIN, 0, GRAIN]) {
      context.beginPath();
      for (let x = -4; x <= GRAIN + 4; x += 4) {
        context.lineTo(x, y + shift + swing * Math.sin((waves * x * 2 * Math.PI) / GRAIN + turn));
      }
      context.stroke();
    }
  }
  return sheet;
};

const TEXTURES = [];
const textureOf = (kind) => (TEXTURES[kind] ??= texture(kind));

// The eye over a board of `size` cells: where it stands over the picture, and how high, in pixels. Numbers stand close
// above the board of a tall stage: there it looks down from further up, and no block leans over them.
const eyeOver = ({ mode, board }, size) => {
  const side = size * board.cell;
  return { x: board.x + side / 2, y: board.y + 1.4 * side, height: (mode === "tall" ? 4 : 2) * side };
};

// A point at height z in the picture.
const project = (eye, x, y, z) => {
  const nearer = eye.height / (eye.height - z);
  return [eye.x + (x - eye.x) * nearer, eye.y + (y - eye.y) * nearer];
};

// The point at height z that stands at (x, y) in the picture.
const pointUnder = (eye, x, y, z) => {
  const farther = (eye.height - z) / eye.height;
  return [eye.x + (x - eye.x) * farther, eye.y + (y - eye.y) * farther];
};

const polygon = (context, color, points) => {
  context.fillStyle = color;
  context.beginPath();
  points.forEach((point) => context.lineTo(...point));
  context.closePath();
  context.fill();
};

// Draws a box with its foot at (x, y, wide, high) from height `low` to `top`; `wood` counts from 0 in TIMBER.
const drawBox = (context, eye, { x, y, wide, high, low, top, wood, corner = 0 }) => {
  const foot = (right, down) => project(eye, x + right * wide, y + down * high, low);
  const head = (right, down) => project(eye, x + right * wide, y + down * high, top);
  const [, , front, side, shine] = TIMBER[wood];
  polygon(context, front, [foot(0, 1), foot(1, 1), head(1, 1), head(0, 1)]);
  const inner = x > eye.x ? 0 : x + wide < eye.x ? 1 : -1;
  if (inner >= 0) polygon(context, side, [foot(inner, 0), foot(inner, 1), head(inner, 1), head(inner, 0)]);
  const [left, upper] = head(0, 0), [right, lower] = head(1, 1);
  const pattern = context.createPattern(textureOf(wood), "repeat");
  pattern.setTransform(new DOMMatrix([1, 0, 0, 1, (left * 2.7) % GRAIN, (upper * 5.3) % GRAIN]));
  context.fillStyle = pattern;
  context.beginPath();
  context.roundRect(left, upper, right - left, lower - upper, corner);
  context.fill();
  const light = context.createLinearGradient(left, upper, right, lower);
  light.addColorStop(0, `rgba(255, 244, 214, ${shine})`);
  light.addColorStop(0.55, "rgba(255, 244, 214, 0)");
  light.addColorStop(1, "rgba(40, 18, 4, 0.24)");
  context.fillStyle = light;
  context.fill();
  context.strokeStyle = `rgba(255, 240, 205, ${0.9 * shine})`;
  context.lineWidth = Math.max(1, Math.min(wide, high) * 0.025);
  context.stroke();
};

// The shadow that a box casts on the table, by a light from the upper left.
const drawShadow = (context, { x, y, wide, high, low, top }) => {
  const shift = 0.28 * top, soft = 0.35 * low;
  context.fillStyle = `rgba(16, 7, 0, ${low ? 0.26 : 0.4})`;
  context.beginPath();
  context.roundRect(x + 0.28 * low - soft / 2, y + 0.2 * low - soft / 2, wide + shift - 0.28 * low + soft, high + 0.7 * shift + soft, wide * 0.12);
  context.fill();
};
