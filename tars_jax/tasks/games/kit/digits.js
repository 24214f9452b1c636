// Numbers of 3 by 5 blocks for small boards, where strokes would blur.
"use strict";
window.Kit = window.Kit || {};

const BLOCKS = [
  "111101101101111", "010110010010111", "111001111100111", "111001111001111", "101101111001001",
  "111100111001111", "111100111101111", "111001001001001", "111101111101111", "111101111001111",
];

// Draws a whole number centred at (x, y), as large as whole pixels allow in a square of `side` pixels.
Kit.digits = (context, number, x, y, side, color) => {
  const signs = String(number);
  const across = Math.max(1, Math.floor((side * 0.85 - (signs.length - 1)) / (3 * signs.length)));
  const down = Math.max(1, Math.min(Math.floor((side * 0.75) / 5), across + 1));
  const wide = Math.min(across, down), width = signs.length * 3 * wide + signs.length - 1;
  const left = Math.round(x - width / 2), top = Math.round(y - (5 * down) / 2);
  context.fillStyle = color;
  [...signs].forEach((sign, i) => [...BLOCKS[sign]].forEach((block, k) => {
    if (block === "0") return;
    context.fillRect(left + i * (3 * wide + 1) + (k % 3) * wide, top + Math.floor(k / 3) * down, wide, down);
  }));
};
