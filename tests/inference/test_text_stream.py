"""Text that comes token by token."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax.inference.text_stream import StopText, TextStream
from tars_jax.model.tokenizer import load_tokenizer

CODEC = load_tokenizer()
END = CODEC.end


def said(tokens: list[int], sizes: list[int], stops: list[str]) -> str:
    """The whole text of a stream, whose tokens come in chunks of these sizes."""
    stream, text = TextStream(CODEC.decode, END, stops), ""
    while tokens:
        size = sizes.pop() if sizes else 1
        text += stream.feed(tokens[:size])
        tokens = tokens[size:]
    return text + stream.finish()


def cut(text: str, stops: list[str]) -> str:
    return text[: min((text.find(stop) for stop in stops if stop in text), default=len(text))]


STOPS = st.lists(st.text("abé\n漢", min_size=1, max_size=3), max_size=1)


@settings(deadline=None)
@given(st.text("abé\n漢😀") | st.text(), st.lists(st.integers(1, 5)), STOPS)
def test_the_whole_text_up_to_the_first_stop(text: str, sizes: list[int], stops: list[str]) -> None:
    assert said(CODEC.encode(text), sizes, stops) == cut(text, stops)


@settings(deadline=None)
@given(st.lists(st.integers(0, CODEC.vocabulary - 1).filter(lambda token: token != END)), st.lists(st.integers(1, 5)))
def test_any_tokens_even_halves_of_characters(tokens: list[int], sizes: list[int]) -> None:
    assert said(tokens, sizes, []) == CODEC.decode(tokens)


def test_nothing_is_said_that_could_still_change() -> None:
    stream = TextStream(CODEC.decode, END, ["stop"])
    accent = CODEC.encode("é")
    assert len(accent) == 2
    assert [stream.feed([accent[0]]), stream.feed([accent[1]])] == ["", "é"]
    assert stream.feed(CODEC.encode("st")) == ""
    assert stream.feed(CODEC.encode("ay")) == "stay"
    assert stream.feed(CODEC.encode("a st")) == "a "
    assert stream.feed(CODEC.encode("op here")) == "" and stream.ended
    assert stream.feed(CODEC.encode("more")) == stream.finish() == ""


def test_the_stop_that_is_complete_first_counts() -> None:
    stream = TextStream(CODEC.decode, END, ["abb", "b"])
    assert [stream.feed(CODEC.encode(letter)) for letter in "ab"] == ["", "a"] and stream.ended


def test_the_end_token_ends_it() -> None:
    stream = TextStream(CODEC.decode, END, ["x"])
    assert stream.feed([*CODEC.encode("abc"), END, *CODEC.encode("def")]) == "abc" and stream.ended


@settings(deadline=None)
@given(st.text("ab", max_size=12), st.lists(st.text("ab", min_size=2, max_size=3), min_size=1, max_size=1))
def test_a_stop_keeps_the_text_before_it(text: str, stops: list[str]) -> None:
    tokens, until = CODEC.encode(text), StopText(CODEC.decode, stops)
    kept = next((kept for size in range(1, len(tokens) + 1) if (kept := until(tokens[:size])) is not None), None)
    assert (kept is not None) == any(stop in text for stop in stops)
    if kept is not None:
        assert (
            until.text == cut(text, stops)
            and CODEC.decode(tokens[:kept]) == until.text[: len(CODEC.decode(tokens[:kept]))]
        )


def test_a_stop_of_what_stands_for_broken_bytes_is_no_character_half_written() -> None:
    half, rest = CODEC.encode("é")
    until = StopText(CODEC.decode, ["\N{REPLACEMENT CHARACTER}"])
    assert until([*CODEC.encode("a"), half]) is None
    assert until([*CODEC.encode("a"), half, rest]) is None
    assert until([*CODEC.encode("a"), half, *CODEC.encode("b")]) == 1 and until.text == "a"
