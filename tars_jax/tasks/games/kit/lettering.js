// Lettering drawn by strokes, so that a page looks the same on a machine without any font. Capitals, digits, some signs.
"use strict";
window.Kit = window.Kit || {};

// width and SVG path of each glyph; capitals are 6 high, the baseline is at 6
const GLYPHS = {
  A: [4, "M0 6L2 0L4 6M.75 4H3.25"],
  B: [3.8, "M0 2.8V0H2A1.4 1.4 0 0 1 2 2.8H0V6H2.2A1.6 1.6 0 0 0 2.2 2.8"],
  C: [3.8, "M3.8 1.3C3.3 .4 2.7 0 2.1 0C.7 0 0 1.4 0 3S.7 6 2.1 6C2.7 6 3.3 5.6 3.8 4.7"],
  D: [4, "M0 0V6H1.4A2.6 3 0 0 0 1.4 0Z"],
  E: [3.2, "M3.2 0H0V6H3.2M0 3H2.6"],
  F: [3.2, "M3.2 0H0V6M0 3H2.6"],
  G: [4, "M3.8 1.3C3.3 .4 2.7 0 2.1 0C.7 0 0 1.4 0 3S.7 6 2.1 6C3.3 6 4 5 4 3.4H2.4"],
  H: [3.6, "M0 0V6M3.6 0V6M0 3H3.6"],
  I: [0, "M0 0V6"],
  J: [2.6, "M2.6 0V4.3C2.6 6.5 .5 6.5 0 4.9"],
  K: [3.5, "M0 0V6M3.4 0L0 3.6M1.2 2.4L3.5 6"],
  L: [3, "M0 0V6H3"],
  M: [4.4, "M0 6V0L2.2 3.6L4.4 0V6"],
  N: [3.7, "M0 6V0L3.7 6V0"],
  O: [4.4, "M2.2 0C.7 0 0 1.4 0 3S.7 6 2.2 6S4.4 4.6 4.4 3S3.7 0 2.2 0Z"],
  P: [3.7, "M0 6V0H2.1A1.65 1.65 0 0 1 2.1 3.3H0"],
  Q: [4.4, "M2.2 0C.7 0 0 1.4 0 3S.7 6 2.2 6S4.4 4.6 4.4 3S3.7 0 2.2 0ZM2.9 4.5L4.3 6.3"],
  R: [3.7, "M0 6V0H2.1A1.65 1.65 0 0 1 2.1 3.3H0M1.8 3.3L3.7 6"],
  S: [3.5, "M3.4 1.1C3 .3 2.4 0 1.75 0C.8 0 .1 .6 .1 1.5C.1 3.6 3.5 2.5 3.5 4.5C3.5 5.4 2.7 6 1.7 6C.9 6 .3 5.6 0 4.8"],
  T: [4, "M0 0H4M2 0V6"],
  U: [3.7, "M0 0V3.8C0 6.7 3.7 6.7 3.7 3.8V0"],
  V: [4, "M0 0L2 6L4 0"],
  W: [5.6, "M0 0L1.4 6L2.8 1L4.2 6L5.6 0"],
  X: [3.6, "M0 0L3.6 6M3.6 0L0 6"],
  Y: [3.8, "M0 0L1.9 3V6M3.8 0L1.9 3"],
  Z: [3.6, "M0 0H3.5L0 6H3.6"],
  0: [3.6, "M1.8 0C.6 0 0 1.3 0 3S.6 6 1.8 6S3.6 4.7 3.6 3S3 0 1.8 0Z"],
  1: [1.5, "M0 1.2L1.4 0V6"],
  2: [3.6, "M.1 1.5C.3 .5 .9 0 1.8 0C2.8 0 3.5 .7 3.5 1.7C3.5 3.3 1 4.3 0 6H3.6"],
  3: [3.5, "M.2 .9C.6 .3 1.1 0 1.7 0C2.7 0 3.3 .6 3.3 1.4C3.3 2.3 2.6 2.8 1.5 2.8C2.8 2.8 3.5 3.4 3.5 4.4C3.5 5.4 2.8 6 1.7 6C1 6 .4 5.7 0 5"],
  4: [3.8, "M2.8 6V0L0 4.2H3.8"],
  5: [3.6, "M3.2 0H.6L.3 2.7C.7 2.3 1.2 2.1 1.8 2.1C2.9 2.1 3.6 2.9 3.6 4C3.6 5.2 2.8 6 1.7 6C1 6 .4 5.7 0 5.1"],
  6: [3.6, "M3.1 .6C2.8 .2 2.4 0 1.9 0C.7 0 0 1.5 0 3.6C0 5.2 .8 6 1.8 6C2.9 6 3.6 5.2 3.6 4.1C3.6 3 2.9 2.3 1.9 2.3C.9 2.3 .2 3 .1 3.8"],
  7: [3.5, "M0 0H3.5L1.3 6"],
  8: [3.6, "M1.8 2.8C.9 2.8 .3 2.2 .3 1.4C.3 .6 .9 0 1.8 0S3.3 .6 3.3 1.4C3.3 2.2 2.7 2.8 1.8 2.8C.7 2.8 0 3.4 0 4.4C0 5.4 .7 6 1.8 6S3.6 5.4 3.6 4.4C3.6 3.4 2.9 2.8 1.8 2.8Z"],
  9: [3.6, "M.5 5.4C.8 5.8 1.2 6 1.7 6C2.9 6 3.6 4.5 3.6 2.4C3.6 .8 2.8 0 1.8 0C.7 0 0 .8 0 1.9C0 3 .7 3.7 1.7 3.7C2.7 3.7 3.4 3 3.5 2.2"],
  "-": [2.2, "M0 3.2H2.2"],
  "/": [2.6, "M2.6 0L0 6"],
  ".": [0, "M0 5.95V6"],
  ",": [0.6, "M.6 5.9L0 7"],
  ":": [0, "M0 1.9V1.95M0 5.2V5.25"],
  "!": [0, "M0 0V3.8M0 5.95V6"],
  "'": [0, "M0 0V1.4"],
  " ": [1.6, ""],
};
const SPACING = 1.7;
const PATHS = new Map(Object.entries(GLYPHS).map(([sign, [width, path]]) => [sign, { width, path: new Path2D(path) }]));

const advance = (text) => [...text].reduce((sum, sign) => sum + PATHS.get(sign).width + SPACING, -SPACING);

// Width in pixels of `text` in capitals of `size` pixels.
Kit.textWidth = (text, size) => (advance(text.toUpperCase()) * size) / 6;

// Draws `text` (any case, shown as capitals) with its top at y. `align` is left, center or right; `maximum` is the width
// in pixels to which it shrinks.
Kit.text = (context, text, x, y, size, color, { align = "left", weight = 0.15, maximum = Infinity, glow = 0 } = {}) => {
  const signs = text.toUpperCase();
  const wide = Kit.textWidth(signs, size);
  const scale = (size / 6) * Math.min(1, maximum / wide);
  const length = advance(signs) * scale;
  context.save();
  context.translate(x - (align === "center" ? length / 2 : align === "right" ? length : 0), y + (size - scale * 6) / 2);
  context.scale(scale, scale);
  context.lineCap = context.lineJoin = "round";
  context.lineWidth = weight * 6;
  context.strokeStyle = color;
  if (glow) {
    context.shadowColor = color;
    context.shadowBlur = glow;
  }
  for (const sign of signs) {
    const glyph = PATHS.get(sign);
    context.stroke(glyph.path);
    context.translate(glyph.width + SPACING, 0);
  }
  context.restore();
};

// Breaks `text` into lines no wider than `width` pixels.
Kit.lines = (text, size, width) => {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && Kit.textWidth(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
};
