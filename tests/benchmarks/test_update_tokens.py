"""What `update_tokens.py` gives to both sides: the same tokens, and the same of them to learn from."""

import numpy as np
import pytest

from tars_jax.training.packing import Packer, PackingConfig
from tests.benchmarks.peers.setting import BATCHES, PAD, Episode, Shape, episodes, padded
from tests.benchmarks.peers.tars_update import model_config, trajectory


def test_padding_by_hand() -> None:
    read, sampled = False, True
    short = Episode(np.array([3, 4, 5], np.int32), np.array([read, sampled, sampled]), np.zeros(3, np.int32), 1)
    long = Episode(
        np.array([6, 7, 8, 9, 2], np.int32),
        np.array([read, read, sampled, read, sampled]),
        np.array([0, 0, 0, 1, 1], np.int32),
        0,
    )
    found = padded([short, long])
    assert found.prompt_ids.tolist() == [[PAD, 3], [6, 7]]
    assert found.completion_ids.tolist() == [[4, 5, PAD], [8, 9, 2]]
    assert found.action_mask.tolist() == [[True, True, False], [True, False, True]]
    assert found.last.tolist() == [1, 2]


@pytest.mark.parametrize("batch", BATCHES)
def test_both_sides_get_the_same_tokens(batch: str) -> None:
    given = episodes(batch)
    theirs = padded(given)
    longest = max(each.tokens.size for each in given)
    packer = Packer(model_config(Shape()), PackingConfig(longest, 0), image=-1)
    ours = packer.pack([trajectory(each) for each in given], 1)
    real = np.concatenate([ids[ids != PAD] for ids in (theirs.prompt_ids, theirs.completion_ids)])
    tokens, mask = ours.rows.inputs.tokens, ours.rows.action_mask
    assert sorted(tokens[ours.rows.inputs.segments > 0]) == sorted(real)
    assert sorted(tokens[mask]) == sorted(theirs.completion_ids[theirs.action_mask])
    assert theirs.completion_ids[np.arange(len(given)), theirs.last].all()
    # Ragged is what it says: most episodes are short, and padding is most of what Tunix computes.
    share = real.size / (theirs.prompt_ids.size + theirs.completion_ids.size)
    assert share == 1 if batch == "equal" else share < 0.4
