// The faces: each kind has a colour and features of its own, drawn by strokes and discs in a circle of radius 1.
"use strict";

const FACE_COLORS = {
  happy: "#ffd43b", angry: "#f0433a", sad: "#3b8bff", silly: "#4fc24a", love: "#ff86c8", cool: "#ff922e",
  sleepy: "#8f6bff", wow: "#35d3e6", calm: "#f1f3f8", wink: "#c3ea4e", grumpy: "#a5673f", shy: "#128c78",
};

// Small tools for features; `pen` draws with the current colours of the context.
const featurePen = (context) => {
  const curve = (path, width = 0.15) => {
    context.lineWidth = width;
    context.stroke(new Path2D(path));
  };
  const disc = (x, y, radius, tall = radius) => {
    context.beginPath();
    context.ellipse(x, y, radius, tall, 0, 0, 2 * Math.PI);
    context.fill();
  };
  const colored = (color, draw) => {
    context.save();
    context.fillStyle = context.strokeStyle = color;
    draw();
    context.restore();
  };
  const shape = (path) => context.fill(new Path2D(path));
  const eyes = (radius = 0.13, y = -0.2) => [-0.36, 0.36].forEach((x) => disc(x, y, radius, radius * 1.35));
  return { curve, disc, colored, shape, eyes };
};

const FEATURES = {
  happy: ({ eyes, shape }) => {
    eyes();
    shape("M-.55 .15Q0 .3 .55 .15Q.45 .72 0 .72T-.55 .15Z");
  },
  angry: ({ eyes, curve }) => {
    eyes(0.12, -0.05);
    curve("M-.62 -.45L-.2 -.22M.62 -.45L.2 -.22");
    curve("M-.38 .55Q0 .25 .38 .55");
  },
  sad: ({ eyes, curve, colored, disc }) => {
    eyes(0.12, -0.12);
    curve("M-.6 -.4L-.25 -.52M.6 -.4L.25 -.52", 0.11);
    curve("M-.35 .58Q0 .25 .35 .58");
    colored("#d7f0ff", () => disc(0.48, 0.3, 0.13, 0.2));
  },
  silly: ({ disc, curve, colored, shape }) => {
    disc(-0.36, -0.22, 0.17, 0.22);
    curve("M.2 -.32L.5 -.2L.2 -.08", 0.12);
    curve("M-.5 .2Q0 .5 .5 .2");
    colored("#ff5f7e", () => shape("M-.05 .36H.38V.62A.215 .2 0 0 1 -.05 .62Z"));
  },
  love: ({ colored, shape }) => {
    const heart = (x) => `M${x} .08L${x - 0.3} -.24A.17 .17 0 0 1 ${x} -.4A.17 .17 0 0 1 ${x + 0.3} -.24Z`;
    colored("#d6134f", () => [-0.38, 0.38].forEach((x) => shape(heart(x))));
    shape("M-.48 .28Q0 .4 .48 .28Q.38 .74 0 .74T-.48 .28Z");
  },
  cool: ({ shape, curve, colored }) => {
    shape("M-.82 -.42H.82V-.28Q.74 .1 .42 .1T.06 -.28H-.06Q-.1 .1 -.42 .1T-.82 -.28Z");
    colored("rgba(255, 255, 255, 0.6)", () => curve("M-.6 -.2L-.44 -.32M.28 -.2L.44 -.32", 0.08));
    curve("M-.3 .45Q.1 .62 .42 .36");
  },
  sleepy: ({ curve, disc }) => {
    curve("M-.56 -.15Q-.36 .05 -.16 -.15M.16 -.15Q.36 .05 .56 -.15", 0.12);
    disc(0, 0.45, 0.16, 0.2);
  },
  wow: ({ eyes, disc, curve }) => {
    eyes(0.15, -0.16);
    curve("M-.55 -.55Q-.36 -.68 -.18 -.56M.55 -.55Q.36 -.68 .18 -.56", 0.1);
    disc(0, 0.44, 0.24, 0.3);
  },
  calm: ({ eyes, curve }) => {
    eyes();
    curve("M-.38 .4H.38");
  },
  wink: ({ disc, curve }) => {
    disc(-0.36, -0.2, 0.13, 0.18);
    curve("M.16 -.18Q.36 -.36 .56 -.18");
    curve("M-.48 .22Q0 .7 .48 .22");
  },
  grumpy: ({ eyes, curve }) => {
    eyes(0.12, -0.1);
    curve("M-.6 -.36H.6");
    curve("M-.4 .46Q-.2 .3 0 .44T.4 .42");
  },
  shy: ({ curve, colored, disc }) => {
    curve("M-.56 -.12Q-.36 -.36 -.16 -.12M.16 -.12Q.36 -.36 .56 -.12", 0.12);
    colored("rgba(255, 120, 140, 0.75)", () => [-0.58, 0.58].forEach((x) => disc(x, 0.16, 0.2, 0.13)));
    curve("M-.22 .38Q0 .54 .22 .38");
  },
};

const drawFeatures = (context, kind, x, y, radius) => {
  context.save();
  context.translate(x, y);
  context.scale(radius, radius);
  context.lineCap = context.lineJoin = "round";
  context.fillStyle = context.strokeStyle = "#2d1b38";
  FEATURES[kind](featurePen(context));
  context.restore();
};

// A face as a shining ball.
const drawFace = (context, kind, x, y, radius) => {
  const disc = (fill, dx, dy, wide, tall) => {
    context.fillStyle = fill;
    context.beginPath();
    context.ellipse(x + dx * radius, y + dy * radius, wide * radius, tall * radius, 0, 0, 2 * Math.PI);
    context.fill();
  };
  context.save();
  context.shadowColor = "rgba(10, 4, 30, 0.45)";
  context.shadowBlur = radius * 0.25;
  context.shadowOffsetY = radius * 0.1;
  disc(FACE_COLORS[kind], 0, 0, 1, 1);
  context.restore();
  const shade = context.createRadialGradient(x, y - radius * 0.35, radius * 0.3, x, y, radius);
  shade.addColorStop(0, "rgba(255, 255, 255, 0.28)");
  shade.addColorStop(0.65, "rgba(255, 255, 255, 0)");
  shade.addColorStop(1, "rgba(40, 0, 60, 0.3)");
  disc(shade, 0, 0, 1, 1);
  disc("rgba(255, 255, 255, 0.3)", 0, -0.7, 0.5, 0.17);
  drawFeatures(context, kind, x, y, radius);
};

// A face of a few pixels: a disc, and features where they can be made out.
const drawFlatFace = (context, kind, x, y, radius) => {
  context.fillStyle = FACE_COLORS[kind];
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
  drawFeatures(context, kind, x, y, radius);
};
