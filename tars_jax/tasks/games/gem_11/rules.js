// The rules of Gem 11: equal gems that touch merge into one of the next number, the gems above fall, new ones follow.
"use strict";

// gems[row][column] is a number from 1, or 0 where a place is empty.
const MERCY = 50;
const BESIDE = Kit.fixed(Object.values(Kit.DIRECTIONS));

// The places, [column, row], that are joined to this one through equal gems, itself the first.
const groupAt = (gems, column, row) => {
  const group = [[column, row]], seen = new Set([`${group[0]}`]);
  for (const [x, y] of group) {
    for (const [dx, dy] of BESIDE) {
      const place = [x + dx, y + dy];
      if (seen.has(`${place}`) || gems[place[1]]?.[place[0]] !== gems[row][column]) continue;
      seen.add(`${place}`);
      group.push(place);
    }
  }
  return group;
};

const canMerge = (gems) => gems.some((line, row) => line.some((gem, column) =>
  gem === line[column + 1] || gem === gems[row + 1]?.[column]));

const largest = (gems) => Math.max(...gems.flat());

// A new gem is one of three numbers from `lowest` on, and of more, up to `kinds`, once larger gems lie on the board.
const newGem = (random, most, { lowest, kinds }) =>
  lowest + random.below(Math.max(3, Math.min(kinds, most - 2 - lowest)));

// The group at a place merges there: {gems, group, falls: [{from, to, gem}], at: where the new gem comes to rest}, or
// null if nothing equal touches it. `fresh` gives the gems that fall in from above; their `from` lies over the board.
// They are drawn anew, up to MERCY times, while nothing could be merged.
const merged = (gems, column, row, fresh) => {
  const group = groupAt(gems, column, row);
  if (group.length < 2) return null;
  let result = null;
  for (let draw = 0; draw < MERCY && !(result && canMerge(result.gems)); draw++) result = fallen(gems, group, fresh);
  return { group, ...result };
};

// {gems, falls, at} after a group gathered at its first place.
const fallen = (gems, group, fresh) => {
  const [column, row] = group[0];
  const left = gems.map((line) => [...line]);
  group.forEach(([x, y]) => (left[y][x] = 0));
  left[row][column] = gems[row][column] + 1;
  const after = gems.map((line) => line.map(() => 0)), falls = [];
  let at = null;
  for (let x = 0; x < gems[0].length; x++) {
    let to = gems.length - 1;
    for (let y = gems.length - 1; y >= 0; y--) {
      if (!left[y][x]) continue;
      after[to][x] = left[y][x];
      falls.push({ from: [x, y], to: [x, to], gem: left[y][x] });
      if (x === column && y === row) at = [x, to];
      to -= 1;
    }
    for (let above = -1; to >= 0; to--, above--) {
      after[to][x] = fresh();
      falls.push({ from: [x, above], to: [x, to], gem: after[to][x] });
    }
  }
  return { gems: after, falls, at };
};
