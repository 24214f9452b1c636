"""What `decode_tokens.py` takes for agreement between two sides."""

import numpy as np
import pytest

from tests.benchmarks.decode_tokens import TOLERANCE, agreement
from tests.benchmarks.peers.decoding import Answers, Turns
from tests.benchmarks.peers.setting import Decoding

OURS = {"written": [[3, 4, 5], [6, 7, 8]], "log_probs": [[-1.0, -1.0, -1.0], [-2.0, -2.0, -2.0]]}


def test_texts_may_part_where_two_tokens_are_equally_likely() -> None:
    # The second row parts at its second token, equally likely in both; what follows is another text.
    parted = {"written": [[3, 4, 5], [6, 9, 1]], "log_probs": [[-1.0, -1.0, -1.0], [-2.0, -2.0, -7.0]]}
    assert agreement(OURS, parted).startswith("4 of 6 greedy tokens alike")


@pytest.mark.parametrize("log_prob", [-2.0 - 2 * TOLERANCE, float("nan")])
def test_another_model_is_found_out(log_prob: float) -> None:
    other = {"written": [[3, 4, 5], [6, 9, 8]], "log_probs": [[-1.0, -1.0, -1.0], [-2.0, log_prob, -2.0]]}
    with pytest.raises(RuntimeError, match="do not compute the same"):
        agreement(OURS, other)


def test_a_turn_reads_and_then_answers_whole_and_greedily_only_at_first() -> None:
    given, asked = Decoding(), []

    def answer(tokens: int, *, greedy: bool, seed: int) -> Answers:
        asked.append((tokens, greedy, seed))
        return Answers(np.ones((given.batch, tokens), np.int32), np.zeros((given.batch, tokens)) if greedy else None)

    turn = Turns(answer)
    assert np.shape(turn()["written"]) == (given.batch, given.answer)
    assert "written" not in turn()
    assert asked == [(1, True, 0), (given.answer, True, 0), (1, False, 1), (given.answer, False, 1)]


def test_an_answer_that_stops_early_is_no_answer() -> None:
    def answer(tokens: int, *, greedy: bool, seed: int) -> Answers:
        return Answers(np.ones((Decoding().batch, max(1, tokens - 1)), np.int32), None)

    with pytest.raises(AssertionError):
        Turns(answer)()
