// Everything around the board: backdrop, title, numbers, hint. Drawn on wide and tall stages only.
"use strict";
window.Kit = window.Kit || {};

// The still parts are painted once per layout into a second canvas and copied from there.
// theme: {glow (of the title), top, bottom, halo (red, green, blue), haloStrength, card, accent, ink, soft}
Kit.backdrop = (stage, theme, paintMore) => {
  if (!stage.backdrop) {
    const still = document.createElement("canvas");
    still.width = stage.canvas.width;
    still.height = stage.canvas.height;
    const context = still.getContext("2d", { alpha: false, willReadFrequently: true });
    const { board } = stage.layout;
    const sky = context.createLinearGradient(0, 0, 0, still.height);
    sky.addColorStop(0, theme.top);
    sky.addColorStop(1, theme.bottom);
    context.fillStyle = sky;
    context.fillRect(0, 0, still.width, still.height);
    const cx = board.x + board.width / 2, cy = board.y + board.height / 2;
    const halo = context.createRadialGradient(cx, cy, board.width * 0.3, cx, cy, board.width * 0.95);
    halo.addColorStop(0, `rgba(${theme.halo}, ${theme.haloStrength})`);
    halo.addColorStop(1, `rgba(${theme.halo}, 0)`);
    context.fillStyle = halo;
    context.fillRect(0, 0, still.width, still.height);
    paintMore?.(context);
    stage.backdrop = still;
  }
  stage.context.drawImage(stage.backdrop, 0, 0);
};

// content: {title: [big, small], numbers: [[label, value], ...], hint, notice (instead of the hint, in the accent colour)}
Kit.hud = (stage, theme, content) => {
  const { context, layout: { mode, panel } } = stage;
  if (mode === "wide") wideHud(context, panel, theme, content);
  else tallHud(context, panel, theme, content);
};

const wideHud = (context, panel, theme, { title, numbers, hint, notice }) => {
  const unit = Math.min(panel.height / 36, panel.width / 25);
  const { x, width } = panel;
  let y = panel.y + (panel.height - unit * 30) / 2;
  Kit.text(context, title[0], x, y, unit * 4.2, theme.ink, { maximum: width, weight: 0.16, glow: unit * theme.glow });
  y += unit * 6.1;
  Kit.text(context, title[1], x, y, unit * 1.6, theme.accent, { maximum: width, weight: 0.14 });
  y += unit * 5.4;
  const gap = unit * 0.9, card = (width - gap * (numbers.length - 1)) / numbers.length;
  numbers.forEach(([label, value], i) => {
    const left = x + i * (card + gap);
    context.fillStyle = theme.card;
    context.beginPath();
    context.roundRect(left, y, card, unit * 6.6, unit);
    context.fill();
    const middle = left + card / 2;
    Kit.text(context, label, middle, y + unit * 1.2, unit * 0.85, theme.soft, { align: "center", maximum: card * 0.8 });
    Kit.text(context, String(value), middle, y + unit * 3.1, unit * 2.2, theme.ink, { align: "center", maximum: card * 0.8 });
  });
  y += unit * 9.6;
  const size = unit * (notice ? 1.7 : 1);
  for (const line of Kit.lines(notice || hint, size, width)) {
    Kit.text(context, line, x, y, size, notice ? theme.accent : theme.soft, { maximum: width, glow: notice ? unit : 0 });
    y += size * 2.1;
  }
};

const tallHud = (context, panel, theme, { title, numbers, notice }) => {
  const half = panel.height / 2, size = Math.min(half * 0.5, panel.width / 20);
  const [name, more] = notice ? ["", notice] : title;
  const after = name ? Kit.textWidth(`${name} `, size) + size * 0.6 : 0, top = panel.y + half * 0.15;
  if (name) Kit.text(context, name, panel.x, top, size, theme.ink, { maximum: panel.width });
  Kit.text(context, more, panel.x + after, top, size, theme.accent, { maximum: panel.width - after });
  numbers.forEach(([label, value], i) => {
    const text = `${label} ${value}`;
    const column = panel.width / numbers.length;
    const align = ["left", "center", "right"][numbers.length === 1 ? 0 : Math.round((2 * i) / (numbers.length - 1))];
    const at = panel.x + { left: i * column, center: (i + 0.5) * column, right: (i + 1) * column }[align];
    Kit.text(context, text, at, panel.y + half * 1.15, size * 0.8, theme.soft, { align, maximum: column * 0.92 });
  });
};
