// Sokoban: arrow keys, swipes, or a click towards which the worker steps. A solved level is followed by the next one.
"use strict";

const game = (() => {
  let levels, index, level, before, behind, moves, faced;

  // levels: texts of levels to play instead of our own six.
  const begin = (options) => {
    levels = (options.levels ?? LEVELS).map(readLevel);
    if (levels.length === 0) throw new RangeError("option levels takes at least one level, got none");
    behind = moves = 0;
    show(0);
    stage.reset();
  };

  const show = (number) => {
    index = number;
    level = before = levels[index];
    faced = "down";
  };
  const solved = () => onTarget(level) === level.boxes.size;

  // Boxes of the levels that lie behind, and those that stand on targets now: one that is pushed off takes its point away.
  const score = () => behind + onTarget(level);

  const move = (direction) => {
    if (!level || solved()) return;
    const after = step(level, direction);
    faced = direction;
    if (after === level) return stage.animate();
    moves += 1;
    before = level;
    level = after;
    if (solved() && index + 1 < levels.length) {
      behind += onTarget(level);
      show(index + 1);
      stage.reset();
    } else {
      stage.animate();
    }
  };

  const tap = (x, y) => {
    if (!level) return;
    const { board } = stage.layout, [row, column] = level.worker;
    const across = (x - board.x) / board.cell - column - 0.5, down = (y - board.y) / board.cell - row - 0.5;
    if (Math.max(Math.abs(across), Math.abs(down)) < 0.5) return;
    if (Math.abs(across) > Math.abs(down)) move(across > 0 ? "right" : "left");
    else move(down > 0 ? "down" : "up");
  };

  const stage = Kit.stage({
    tween_ms: 110, grid: () => [level.columns, level.rows], tap, key: move, swipe: move,
    draw: (theStage, progress) => drawBoard(theStage, progress, {
      level, before, faced, index, levels: levels.length, score: score(), moves, won: solved(),
    }),
  });

  const state = () => ({
    game: "sokoban", level: index + 1, levels: levels.length, room: written(level), boxes: level.boxes.size,
    on_target: onTarget(level), score: score(), moves, ...stage.geometry(),
  });

  return { start: begin, state, canvas: stage.canvas };
})();
window.game = game;
Kit.playByHand();
