"""The committed tokenizer: exact both ways, special tokens whole."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.train_tokenizer import get_config as train_tokenizer_config
from experiments import train_tokenizer as train_tokenizer_experiment
from tars_jax import InputError
from tars_jax.model.tokenizer import CALL_TOKENS, COMMITTED, TURN_TOKENS, Tokenizer, load_tokenizer, train_tokenizer

TOKENIZER = load_tokenizer()
PIECES = st.one_of(st.text(max_size=8), st.sampled_from([*TURN_TOKENS, *CALL_TOKENS, "583 417", " right", "<|", "é"]))


@given(st.lists(PIECES, max_size=8).map("".join))
def test_any_text_comes_back(text: str) -> None:
    tokens = TOKENIZER.encode(text)
    assert TOKENIZER.decode(tokens) == text
    assert b"".join(map(TOKENIZER.spell, tokens)) == text.encode()


def test_a_part_of_a_character_is_spelled_and_an_id_without_a_token_is_nothing() -> None:
    assert [TOKENIZER.spell(token) for token in TOKENIZER.encode("é")] == [b"\xc3", b"\xa9"]
    assert TOKENIZER.spell(TOKENIZER.vocabulary) == b""


@pytest.mark.parametrize("token", [*TURN_TOKENS, *CALL_TOKENS])
def test_special_tokens_are_one_token_each(token: str) -> None:
    assert TOKENIZER.encode(token) == [TOKENIZER.id_of(token)]


def test_the_file_says_what_the_library_makes_of_it() -> None:
    for added in json.loads(COMMITTED.read_text())["added_tokens"]:
        assert TOKENIZER.id_of(added["content"]) == added["id"]


def test_turn_tokens_come_first() -> None:
    assert [TOKENIZER.id_of(token) for token in TURN_TOKENS] == list(range(len(TURN_TOKENS)))
    assert (TOKENIZER.end, TOKENIZER.image) == (3, 5)


@given(st.lists(st.integers(0, TOKENIZER.vocabulary - 1), max_size=20))
def test_whatever_a_policy_samples_has_a_text(tokens: list[int]) -> None:
    assert isinstance(TOKENIZER.decode(tokens), str)


def test_a_response_of_the_maze_is_short() -> None:
    text = "Thought: 2 3 to 4 3, right right, right\nAction: click(point='<point>583 417</point>')<|end|>"
    assert len(TOKENIZER.encode(text)) <= 24  # the engine's budget for an answer


def test_what_is_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the tokenizer has no token '<|video|>'"):
        TOKENIZER.id_of("<|video|>")
    with pytest.raises(InputError, match="missing.json is not a tokenizer file"):
        load_tokenizer(tmp_path / "missing.json")
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(InputError, match="broken.json is not a tokenizer file"):
        load_tokenizer(tmp_path / "broken.json")


def test_what_tools_left_in_the_file_cuts_and_fills_no_text(tmp_path: Path) -> None:
    content = json.loads(COMMITTED.read_bytes())
    content["truncation"] = {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    content["padding"] = {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None}
    content["padding"] |= {"pad_id": 0, "pad_type_id": 0, "pad_token": "<|pad|>"}
    (tmp_path / "left.json").write_text(json.dumps(content))
    text = "Thought: 2 3 to 4 3, right right, right"
    assert load_tokenizer(tmp_path / "left.json").encode(text) == TOKENIZER.encode(text)


def test_training_keeps_words_and_numbers_apart() -> None:
    trained = Tokenizer(train_tokenizer(["12 away, right", "12 away, left"] * 50, vocabulary=360))
    assert trained.vocabulary <= 360
    for text in ("12 away, right", "ünseen 🙂\n"):
        assert trained.decode(trained.encode(text)) == text
    assert len(trained.encode("12 away, right")) == 4  # the comma is no part of a word
    for token in (*TURN_TOKENS, *CALL_TOKENS):
        assert trained.encode(token) == [trained.id_of(token)]
    assert trained.image == TURN_TOKENS.index("<|image|>")


def test_the_committed_file_is_what_its_experiment_trains(tmp_path: Path) -> None:
    config = train_tokenizer_config()
    config.output = str(tmp_path / "tokenizer.json")
    train_tokenizer_experiment.run(config, None)
    assert (tmp_path / "tokenizer.json").read_bytes() == COMMITTED.read_bytes()
