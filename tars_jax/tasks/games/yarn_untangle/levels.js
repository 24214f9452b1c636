// Levels of Yarn Untangle: threads that do not cross, then balls moved away; kept where steepest descent untangles it.
"use strict";

// [places on a side, balls, threads, balls moved away, moves that untangling takes at least] of levels 1, 2, ...; the last
// one stands for all that follow
const LEVELS = Kit.fixed([
  [4, 4, 4, 1, 1], [4, 5, 7, 2, 1], [5, 6, 10, 6, 2], [5, 7, 12, 7, 3], [6, 9, 14, 9, 4], [6, 11, 17, 11, 5],
  [8, 13, 21, 13, 6], [8, 16, 26, 16, 8],
]);

// Threads without crossings between balls on random places: first those that join everything, then more, or null.
const weave = (random, balls, count) => {
  const threads = [], group = balls.map((_, ball) => ball);
  const far = ([a, b]) => Math.hypot(balls[a][0] - balls[b][0], balls[a][1] - balls[b][1]);
  const pairs = balls.flatMap((_, b) => balls.slice(0, b).map((_, a) => [a, b]));
  const ranked = pairs.map((pair) => [far(pair) + 1.5 * random.next(), pair]).sort(([one], [other]) => one - other);
  for (const joining of [true, false]) {
    for (const [, [a, b]] of ranked) {
      const known = threads.some(([c, d]) => c === a && d === b);
      if (known || threads.length === count || (joining && group[a] === group[b])) continue;
      if (threads.some((other) => cross(balls, [a, b], other))) continue;
      threads.push([a, b]);
      const [from, to] = [group[b], group[a]];
      group.forEach((name, ball) => { if (name === from) group[ball] = to; });
    }
  }
  return threads.length === count && group.every((name) => name === group[0]) ? threads : null;
};

// The move of one ball that takes away the most crossings, the first of them in the order of balls and places; null if
// every move leaves as many or more. {ball, to, gain}
const steepest = (balls, threads, size) => {
  const taken = new Set(balls.map(([column, row]) => row * size + column));
  let best = { gain: 0 };
  balls.forEach((_, ball) => {
    const own = threads.filter((thread) => thread.includes(ball));
    const others = threads.filter((thread) => !thread.includes(ball));
    // the crossings of this ball's threads, counted up to `limit`
    const count = (at, limit) => {
      let found = 0;
      for (let i = 0; i < own.length && found < limit; i++) {
        for (let j = 0; j < others.length; j++) found += cross(at, own[i], others[j]);
        for (let j = 0; j < i; j++) found += cross(at, own[i], own[j]);
      }
      return found;
    };
    const now = count(balls, Infinity);
    for (let place = 0; place < size * size; place++) {
      if (now <= best.gain) return;
      if (taken.has(place)) continue;
      const to = [place % size, Math.floor(place / size)];
      const gain = now - count(balls.with(ball, to), now - best.gain);
      if (gain > best.gain) best = { ball, to, gain };
    }
  });
  return best.gain ? best : null;
};

// How many moves steepest descent takes until nothing crosses, or null where it does not come there.
const descent = (balls, threads, size) => {
  let at = balls, steps = 0;
  while (crossings(at, threads).length) {
    const move = steepest(at, threads, size);
    if (!move) return null;
    at = at.with(move.ball, move.to);
    steps += 1;
  }
  return steps;
};

// A tangle {balls, threads} that can be untangled: its threads did not cross before `away` balls were moved. Steepest
// descent takes `least` moves or more.
const makeLevel = (random, size, count, threadCount, away, least) => {
  const places = Array.from({ length: size * size }, (_, place) => [place % size, Math.floor(place / size)]);
  for (let attempt = 0; attempt < 500; attempt++) {
    const home = random.shuffle([...places]).slice(0, count);
    const threads = weave(random, home, threadCount);
    if (!threads) continue;
    const free = random.shuffle(places.filter((place) => !home.includes(place) || away === count));
    const moved = random.shuffle(home.map((_, ball) => ball)).slice(0, away);
    const balls = home.map((place, ball) => (moved.includes(ball) ? free[moved.indexOf(ball)] : place));
    if (descent(balls, threads, size) >= least) return { balls, threads };
  }
  throw new RangeError(`option threads: no ${threadCount} threads between ${count} balls were found on ${size} by ${size} places`);
};
