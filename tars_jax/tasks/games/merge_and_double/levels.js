// Levels of Merge and Double: some rows of blocks that do not touch their like, and a stream of blocks to drop.
"use strict";

// [block to reach, largest block that is given, rows at the start] of levels 1, 2, ...; the last one stands for all
// that follow
const LEVELS = Kit.fixed([
  [32, 8, 1], [64, 16, 1], [256, 32, 3], [512, 64, 3], [512, 32, 3], [1024, 64, 2], [1024, 32, 3], [2048, 64, 3],
]);

// One of the blocks 2, 4, ..., `most`, each as likely as the others.
const giveBlock = (random, most) => 2 ** random.between(1, Math.log2(most));

const makeColumns = (random, most, rows) => {
  const columns = [];
  for (let column = 0; column < COLUMNS; column++) {
    columns.push([]);
    for (let row = 0; row < rows; row++) {
      const beside = [columns[column][row - 1], columns[column - 1]?.[row]];
      let block = giveBlock(random, most);
      while (beside.includes(block)) block = giveBlock(random, most);
      columns[column].push(block);
    }
  }
  return columns;
};
