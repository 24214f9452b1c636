// How every synthesised game of the templates looks: a board of soft tiles in the colours of THEME.
"use strict";

const Scene = (() => {
  const tile = (context, board, column, row, inset, color, round) => {
    const side = board.cell * (1 - 2 * inset);
    context.fillStyle = color;
    context.beginPath();
    context.roundRect(board.x + (column + inset) * board.cell, board.y + (row + inset) * board.cell, side, side, round);
    context.fill();
  };

  const piece = (context, board, [column, row], kind) => {
    const x = board.x + (column + 0.5) * board.cell, y = board.y + (row + 0.5) * board.cell;
    context.beginPath();
    context.arc(x, y, board.cell * (kind === "goal" ? 0.36 : 0.26), 0, 2 * Math.PI);
    if (kind === "goal") {
      context.lineWidth = Math.max(2, board.cell * 0.1);
      context.strokeStyle = THEME.accent;
      context.stroke();
    } else {
      context.fillStyle = kind === "mark" ? THEME.bottom : THEME.bright; // a mark lies on a bright tile
      context.fill();
    }
  };

  // view: {columns, rows, color: (column, row), numbers, notice} and, where the game has them, {joined: without gaps,
  // number: (column, row) to write, pieces: [[cell, kind], ...], mark: a cell, warn: dots along the lower edge}
  const draw = (stage, view) => {
    const { context, canvas, layout: { board, mode } } = stage;
    const flat = mode === "compact";
    if (flat) {
      context.fillStyle = THEME.bottom;
      context.fillRect(0, 0, canvas.width, canvas.height);
    } else {
      Kit.backdrop(stage, { ...THEME, halo: "255, 255, 255", haloStrength: 0.1, card: "rgba(255, 255, 255, 0.08)" });
    }
    for (let row = 0; row < view.rows; row++) {
      for (let column = 0; column < view.columns; column++) {
        const inset = view.joined ? 0 : flat ? 0.04 : 0.05;
        tile(context, board, column, row, inset, view.color(column, row), view.joined || flat ? 0 : board.cell * 0.16);
        const number = view.number?.(column, row);
        if (number && flat) {
          const x = board.x + (column + 0.5) * board.cell, y = board.y + (row + 0.5) * board.cell;
          Kit.digits(context, number, x, y, board.cell, THEME.bottom);
        } else if (number) {
          const size = board.cell * 0.42;
          const x = board.x + (column + 0.5) * board.cell, y = board.y + (row + 0.5) * board.cell - size / 2;
          Kit.text(context, String(number), x, y, size, THEME.bottom, { align: "center", maximum: board.cell * 0.7, weight: 0.16 });
        }
      }
    }
    (view.pieces || []).forEach(([cell, kind]) => piece(context, board, cell, kind));
    if (view.mark) piece(context, board, view.mark, "mark");
    for (let dot = 0; flat && dot < (view.warn || 0); dot++) {
      context.fillStyle = THEME.accent;
      context.fillRect(board.x + 2 + 6 * dot, board.y + board.height - 4, 4, 3);
    }
    if (flat) return;
    Kit.hud(stage, { ...THEME, glow: 0.8, card: "rgba(255, 255, 255, 0.08)", soft: "rgba(255, 255, 255, 0.66)" }, {
      title: PARAMETERS.title, numbers: view.numbers, hint: PARAMETERS.hint, notice: view.notice || "",
    });
  };

  return { draw };
})();
