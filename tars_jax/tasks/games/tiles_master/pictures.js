// The pictures on the tiles, as paths in a square of side 2 around the origin.
"use strict";

const circle = (context, color, x, y, radius) => {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
};

const shape = (context, color, path) => {
  context.fillStyle = color;
  context.fill(new Path2D(path));
};

const line = (context, color, width, path) => {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.lineCap = context.lineJoin = "round";
  context.stroke(new Path2D(path));
};

const PICTURES = Kit.fixed({
  cherry: (context) => {
    line(context, "#3d8b37", 0.14, "M-.4 .1C-.35 -.4 0 -.7 .35 -.85C.3 -.5 .4 -.2 .45 .2");
    circle(context, "#d91e36", -0.42, 0.38, 0.42);
    circle(context, "#b3122d", 0.46, 0.46, 0.38);
    circle(context, "#ff8f9c", -0.55, 0.24, 0.11);
  },
  leaf: (context) => {
    shape(context, "#35a853", "M-.8 .8C-.95 -.3 -.2 -.95 .85 -.85C.95 .2 .3 .95 -.8 .8Z");
    line(context, "#d9f5c8", 0.11, "M-.62 .62L.45 -.45M-.1 .1L-.12 -.32M-.1 .1L.34 .12");
  },
  drop: (context) => {
    shape(context, "#1f7fe0", "M0 -.95C.3 -.4 .68 0 .68 .33A.68 .62 0 0 1 -.68 .33C-.68 0 -.3 -.4 0 -.95Z");
    line(context, "#bfe2ff", 0.14, "M-.36 .3A.38 .36 0 0 0 -.06 .64");
  },
  star: (context) => {
    shape(context, "#f7b500", "M0 -.95L.28 -.34L.95 -.27L.45 .19L.59 .85L0 .51L-.59 .85L-.45 .19L-.95 -.27L-.28 -.34Z");
    shape(context, "#ffe58a", "M0 -.55L.15 -.2L-.25 .2L-.5 -.1L-.15 -.2Z");
  },
  grape: (context) => {
    line(context, "#3d8b37", 0.14, "M0 -.5L.1 -.9M.1 -.75C.3 -.95 .5 -.9 .6 -.75");
    for (const [x, y] of [[-0.52, -0.32], [0, -0.36], [0.52, -0.32], [-0.27, 0.12], [0.27, 0.12], [0, 0.56]]) {
      circle(context, "#6f2da8", x, y, 0.31);
      circle(context, "#b784e0", x - 0.09, y - 0.09, 0.1);
    }
  },
  flower: (context) => {
    for (let petal = 0; petal < 5; petal++) {
      const angle = ((petal - 0.25) * 2 * Math.PI) / 5;
      circle(context, "#ff6fb5", 0.52 * Math.cos(angle), 0.52 * Math.sin(angle), 0.37);
    }
    circle(context, "#ffd84a", 0, 0, 0.3);
  },
  carrot: (context) => {
    line(context, "#35a853", 0.18, "M.4 -.4L.45 -.9M.4 -.4L.8 -.8M.4 -.4L.9 -.45");
    shape(context, "#f5761a", "M-.85 .88C-.7 .1 -.3 -.5 .15 -.6C.5 -.62 .68 -.4 .6 -.1C.5 .3 -.1 .75 -.85 .88Z");
    line(context, "#ffc08a", 0.1, "M-.2 -.15L.05 .1M-.42 .3L-.2 .5");
  },
  mushroom: (context) => {
    shape(context, "#ecd9b4", "M-.3 .05H.3L.4 .85Q0 1 -.4 .85Z");
    shape(context, "#8c4a21", "M-.9 .15C-.9 -1.2 .9 -1.2 .9 .15C.5 .35 -.5 .35 -.9 .15Z");
    circle(context, "#f3e2c4", -0.3, -0.35, 0.17);
    circle(context, "#f3e2c4", 0.36, -0.2, 0.14);
  },
  moon: (context) => {
    shape(context, "#3b3fa0", "M.3 -.9A.92 .92 0 1 0 .9 .42A.75 .75 0 0 1 .3 -.9Z");
    circle(context, "#8d92e8", -0.45, 0.1, 0.11);
    circle(context, "#8d92e8", -0.1, 0.5, 0.15);
  },
  fish: (context) => {
    shape(context, "#12a5a5", "M.3 0L.95 -.55V.55Z");
    shape(context, "#16c0b8", "M-.95 0C-.6 -.75 .25 -.7 .55 0C.25 .7 -.6 .75 -.95 0Z");
    circle(context, "#06383a", -0.5, -0.12, 0.12);
    line(context, "#0b7f80", 0.1, "M-.15 -.35A.5 .5 0 0 1 -.15 .35");
  },
  cloud: (context) => {
    shape(context, "#7d93ab", "M-.5 .6A.42 .42 0 0 1 -.55 -.22A.52 .52 0 0 1 .4 -.36A.48 .48 0 0 1 .52 .6Z");
    line(context, "#d4e0ec", 0.12, "M-.5 .02A.4 .4 0 0 1 -.15 -.3");
  },
  cat: (context) => {
    shape(context, "#2b2b33", "M-.8 -.9L-.3 -.55Q0 -.62 .3 -.55L.8 -.9L.82 .15C.8 .9 -.8 .9 -.82 .15Z");
    circle(context, "#ffd84a", -0.36, 0.02, 0.16);
    circle(context, "#ffd84a", 0.36, 0.02, 0.16);
    shape(context, "#ff8fb0", "M-.14 .3H.14L0 .46Z");
  },
});

// Draws a picture centred at (x, y), `side` pixels high and wide.
const drawPicture = (context, kind, x, y, side) => {
  context.save();
  context.translate(x, y);
  context.scale(side / 2, side / 2);
  PICTURES[kind](context);
  context.restore();
};
