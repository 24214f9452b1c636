// Seeded randomness. The same words give the same stream on every machine; no game calls Math.random.
"use strict";
window.Kit = window.Kit || {};

// Four 32-bit words from a string (cyrb128), to seed sfc32.
Kit.hash128 = (text) => {
  let a = 1779033703, b = 3144134277, c = 1013904242, d = 2773480762;
  for (let i = 0; i < text.length; i++) {
    const k = text.charCodeAt(i);
    a = b ^ Math.imul(a ^ k, 597399067);
    b = c ^ Math.imul(b ^ k, 2869860233);
    c = d ^ Math.imul(c ^ k, 951274213);
    d = a ^ Math.imul(d ^ k, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  return [(a ^ b ^ c ^ d) >>> 0, (b ^ a) >>> 0, (c ^ a) >>> 0, (d ^ a) >>> 0];
};

// A stream of random numbers (sfc32) named by its words, for example Kit.random("maze", seed, level).
Kit.random = (...words) => {
  let [a, b, c, d] = Kit.hash128(words.join(":"));
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 4294967296;
  };
  for (let i = 0; i < 12; i++) next();
  const below = (n) => Math.floor(next() * n);
  const pick = (items) => items[below(items.length)];
  const shuffle = (items) => {
    for (let i = items.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [items[i], items[j]] = [items[j], items[i]];
    }
    return items;
  };
  return { next, below, pick, shuffle, between: (low, high) => low + below(high - low + 1) };
};
