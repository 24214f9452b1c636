// The stage: one opaque canvas over the whole viewport at device pixel ratio 1, its layout, its input and its tween.
"use strict";
window.Kit = window.Kit || {};

// Below this many pixels a viewport shows the board alone, flat and without tweens: this is what a small policy sees.
Kit.COMPACT_BELOW = 200;

Kit.DIRECTIONS = Kit.fixed({ up: [0, -1], right: [1, 0], down: [0, 1], left: [-1, 0] });

const KEYS = Kit.fixed({
  ArrowUp: "up", ArrowRight: "right", ArrowDown: "down", ArrowLeft: "left",
  w: "up", d: "right", s: "down", a: "left",
});

// What the browser says of an event: a script that comes before us may have laid other words over it.
const reader = (kind, name) => {
  const { get } = Object.getOwnPropertyDescriptor(kind.prototype, name);
  return (event) => Reflect.apply(get, event, []);
};
const [clientX, clientY, button] = ["clientX", "clientY", "button"].map((name) => reader(MouseEvent, name));
const pressedKey = reader(KeyboardEvent, "key");
const modified = ["ctrlKey", "metaKey", "altKey"].map((name) => reader(KeyboardEvent, name));

// Where the board and the panel stand. All lengths are whole pixels; `cell` is the side of one board cell.
Kit.layout = (width, height, columns, rows) => {
  const place = (x, y, w, h) => {
    const cell = Math.max(1, Math.floor(Math.min(w / columns, h / rows)));
    const board = { cell, width: cell * columns, height: cell * rows };
    return { x: x + Math.floor((w - board.width) / 2), y: y + Math.floor((h - board.height) / 2), ...board };
  };
  if (Math.min(width, height) < Kit.COMPACT_BELOW) {
    return { mode: "compact", board: place(0, 0, width, height), panel: null };
  }
  if (width >= 1.3 * height) {
    const margin = Math.round(height * 0.075);
    const side = Math.min(height - 2 * margin, Math.round(width * 0.55));
    const board = place(width - side - Math.round(margin * 1.6), Math.floor((height - side) / 2), side, side);
    const left = Math.round(margin * 1.6);
    const panelWidth = Math.round(board.x - left - 1.3 * margin);
    return { mode: "wide", board, panel: { x: left, y: margin, width: panelWidth, height: height - 2 * margin } };
  }
  const margin = Math.max(8, Math.round(Math.min(width, height) * 0.04));
  const header = Math.max(34, Math.round(height * 0.15));
  const board = place(margin, header + margin, width - 2 * margin, height - header - 2 * margin);
  return { mode: "tall", board, panel: { x: margin, y: margin, width: width - 2 * margin, height: header } };
};

// rules: {tween_ms, grid: () => [columns, rows], draw: (stage, progress 0..1), tap: (x, y), swipe: (direction),
//         key: (direction)} and, where pieces are carried, {pick: (x, y) => whether one was taken up, carry: (x, y),
//         drop: (x, y)}: a press that took something up ends in `drop`, or in `tap` where the pointer did not move.
// The state of a game changes in `tap`, `swipe`, `key` or `drop`; the game then calls stage.animate().
Kit.stage = (rules) => {
  const canvas = document.createElement("canvas");
  document.body.appendChild(canvas);
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  let frame = 0, pressed = null, carrying = false;
  const stage = { canvas, context, layout: null, backdrop: null };

  const draw = (progress) => {
    context.setTransform(1, 0, 0, 1, 0, 0);
    rules.draw(stage, progress);
  };
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
  };
  // Fits the canvas to the viewport and draws the state at rest; forgets every input and tween of the past.
  stage.reset = () => {
    stop();
    pressed = null;
    carrying = false;
    canvas.width = window.innerWidth;
    canvas.height = window.innerHeight;
    stage.layout = Kit.layout(canvas.width, canvas.height, ...rules.grid());
    stage.backdrop = null;
    draw(1);
  };
  // Draws the way from the last state to this one; at rest after rules.tween_ms, at once on a compact stage.
  stage.animate = () => {
    stop();
    if (stage.layout.mode === "compact") return draw(1);
    const begin = performance.now();
    const tick = () => {
      const progress = Math.min(1, (performance.now() - begin) / rules.tween_ms);
      frame = progress < 1 ? requestAnimationFrame(tick) : 0;
      draw(progress);
    };
    tick();
  };
  stage.geometry = () => ({
    viewport: { width: canvas.width, height: canvas.height },
    board: stage.layout && { ...stage.layout.board },
  });

  canvas.addEventListener("pointerdown", (event) => {
    if (!event.isTrusted || button(event) !== 0) return;
    pressed = [clientX(event), clientY(event)];
    carrying = rules.pick?.(...pressed) ?? false;
  });
  window.addEventListener("pointermove", (event) => {
    if (event.isTrusted && pressed && carrying) rules.carry(clientX(event), clientY(event));
  });
  window.addEventListener("pointerup", (event) => {
    if (!event.isTrusted || button(event) !== 0 || pressed === null) return;
    const [x, y] = pressed, [toX, toY] = [clientX(event), clientY(event)];
    const dx = toX - x, dy = toY - y;
    pressed = null;
    if (Math.hypot(dx, dy) < 0.4 * stage.layout.board.cell) return rules.tap(toX, toY);
    if (carrying) return rules.drop(toX, toY);
    const across = Math.abs(dx) > Math.abs(dy);
    rules.swipe(across ? (dx > 0 ? "right" : "left") : (dy > 0 ? "down" : "up"));
  });
  window.addEventListener("keydown", (event) => {
    if (!event.isTrusted) return;
    const key = pressedKey(event), direction = KEYS[key.length === 1 ? key.toLowerCase() : key];
    if (!direction || modified.some((held) => held(event))) return;
    event.preventDefault();
    rules.key(direction);
  });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  window.addEventListener("resize", () => stage.layout && stage.reset());
  return stage;
};

// The board cell under a pixel, [column, row], or null beside the board.
Kit.cellAt = (board, x, y) => {
  const column = Math.floor((x - board.x) / board.cell), row = Math.floor((y - board.y) / board.cell);
  const inside = column >= 0 && row >= 0 && column * board.cell < board.width && row * board.cell < board.height;
  return inside ? [column, row] : null;
};

Kit.easeOut = (t) => 1 - (1 - t) ** 3;

// Reads a whole-number option; a wrong one stops start() with a sentence.
Kit.integer = (options, name, standard, low, high) => {
  const value = options[name] === undefined ? standard : options[name];
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new RangeError(`option ${name} takes a whole number from ${low} to ${high}, got ${JSON.stringify(value)}`);
  }
  return value;
};

// A person opened the page: play from ?seed=..&level=.., and go on to the next level after a win. Ends for good when a
// sandbox calls game.start itself. game.begun() names the episode that runs, so that whoever started one sees that it is
// still the same.
Kit.playByHand = () => {
  const start = game.start;
  let byHand = true, begun = 0, given = null;
  const beginWith = (options) => {
    begun += 1;
    given = JSON.stringify(options);
    start(options);
  };
  game.start = (options) => {
    byHand = false;
    beginWith(options);
  };
  game.begun = () => `${begun} ${given}`;
  window.addEventListener("load", () => {
    if (!byHand) return;
    const query = new URLSearchParams(location.search);
    const begin = (level) => beginWith({ seed: Number(query.get("seed") || 1), level });
    begin(Number(query.get("level") || 1));
    window.addEventListener("pointerdown", () => {
      const { done, success, level } = window.verify();
      if (byHand && done) begin(success ? level + 1 : level);
    });
  });
};
