// A slide that brings the goal nearer.
"use strict";

window.reference = ({ rocks, piece, slides }) => {
  const legal = Object.keys(Kit.DIRECTIONS)
    .map((direction) => [direction, slideTo(rocks, piece, direction)])
    .filter(([, end]) => String(end) !== String(piece));
  const move = ([direction]) => ({
    thought: `${piece[0]} ${piece[1]}, ${slides[String(piece)]} slides away, ${direction}`, key: direction,
  });
  const near = legal.filter(([, end]) => slides[String(end)] === slides[String(piece)] - 1);
  return { good: near.map(move), legal: legal.map(move) };
};
