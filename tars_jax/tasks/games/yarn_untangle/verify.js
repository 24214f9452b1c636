// The verifier: what counts, worked out from the places of the balls and the threads between them alone.
"use strict";

window.verify = () => {
  const { balls, threads, level, score } = game.state();
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const on = (p, a, b) => turn(a, b, p) === 0 && (p[0] - a[0]) * (p[0] - b[0]) + (p[1] - a[1]) * (p[1] - b[1]) <= 0;
  const meet = (one, other) => {
    const [a, b] = one.map((ball) => balls[ball]), [c, d] = other.map((ball) => balls[ball]);
    const ends = [[one[0], c, d], [one[1], c, d], [other[0], a, b], [other[1], a, b]];
    const shared = (ball) => one.includes(ball) && other.includes(ball);
    if (ends.some(([ball, from, to]) => !shared(ball) && on(balls[ball], from, to))) return true;
    return turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;
  };
  const success = threads.every((one, i) => threads.slice(0, i).every((other) => !meet(one, other)));
  return { score, level, lives: 1, done: success, success };
};
