"""Which rows an update sees: every epoch in a new order that depends on the seed and the epoch alone."""

from __future__ import annotations

import numpy as np


def rows_of_update(update: int, num_rows: int, batch_rows: int, seed: int) -> np.ndarray:
    """Indices of the rows of update number `update`; a resumed run goes on with the order it would have had.

    The last rows of an epoch that do not fill a batch are left out of it.
    """
    per_epoch = max(num_rows // batch_rows, 1)
    epoch, number = divmod(update, per_epoch)
    order = np.random.default_rng((seed, epoch)).permutation(num_rows)
    return order[number * batch_rows : (number + 1) * batch_rows]
