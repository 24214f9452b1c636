// The rules of Yarn Untangle. Balls lie on places [column, row] of a grid, a thread [a, b] is pulled straight between two
// of them. Two threads cross where they meet in any point but a ball that they share.
"use strict";

// On which side of the line from (ax, ay) to (bx, by) a point lies: a number above, below or equal to 0.
const side = (ax, ay, bx, by, x, y) => (bx - ax) * (y - ay) - (by - ay) * (x - ax);

const inBox = (ax, ay, bx, by, x, y) =>
  (x - ax) * (x - bx) <= 0 && (y - ay) * (y - by) <= 0;

// Whether the segments a-b and c-d have a point in common.
const touch = ([ax, ay], [bx, by], [cx, cy], [dx, dy]) => {
  const ofC = side(ax, ay, bx, by, cx, cy), ofD = side(ax, ay, bx, by, dx, dy);
  if (ofC * ofD > 0) return false;
  const ofA = side(cx, cy, dx, dy, ax, ay), ofB = side(cx, cy, dx, dy, bx, by);
  if (ofA * ofB > 0) return false;
  if (ofC || ofD) return true;
  return inBox(ax, ay, bx, by, cx, cy) || inBox(ax, ay, bx, by, dx, dy) || inBox(cx, cy, dx, dy, ax, ay);
};

// Whether two threads cross; those with a common ball do where one lies along the other.
const cross = (balls, [a, b], [c, d]) => {
  if (a !== c && a !== d && b !== c && b !== d) return touch(balls[a], balls[b], balls[c], balls[d]);
  const [x, y] = balls[a === c || a === d ? a : b];
  const [oneX, oneY] = balls[a === c || a === d ? b : a], [otherX, otherY] = balls[c === a || c === b ? d : c];
  const along = (oneX - x) * (otherX - x) + (oneY - y) * (otherY - y);
  return along > 0 && side(x, y, oneX, oneY, otherX, otherY) === 0;
};

// All pairs of threads that cross, as their numbers.
const crossings = (balls, threads) => {
  const pairs = [];
  threads.forEach((thread, i) => threads.slice(0, i).forEach((other, j) => {
    if (cross(balls, thread, other)) pairs.push([j, i]);
  }));
  return pairs;
};
