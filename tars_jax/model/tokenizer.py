"""The tokenizer of the agent's own language: byte-level BPE with special tokens for turns, images and calls.

`load_tokenizer` reads the tokenizer.json of an open checkpoint as well.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as _Tokenizer

from tars_jax import InputError

COMMITTED = Path(__file__).with_name("tokenizer.json")

TURN_TOKENS = ("<|pad|>", "<|user|>", "<|agent|>", "<|end|>", "<|vision_start|>", "<|image|>", "<|vision_end|>")

# The frames of calls are tokens of their own: a policy that knows which call it wants writes it in one piece.
CALL_TOKENS = (
    "Thought:",
    "\nAction: ",
    "\nAction: click(point='<point>",
    "\nAction: left_double(point='<point>",
    "\nAction: right_single(point='<point>",
    "\nAction: drag(start_point='<point>",
    "</point>', end_point='<point>",
    "</point>')",
    "\nAction: hotkey(key='",
    "\nAction: press(key='",
    "\nAction: type(content='",
    "\nAction: scroll(point='<point>",
    "</point>', direction='",
    "\nAction: wait()",
    "\nAction: finished(content='",
    "')",
    "<think>",
    "</think><seed:tool_call>",
    "<function=",
    "<parameter=",
    "<function=click><parameter=point><point>",
    "</point></parameter></function></seed:tool_call>",
    "</parameter>",
    "</function>",
    "</seed:tool_call>",
    "<point>",
    "</point>",
)


# The printable character that stands for each byte in a byte-level vocabulary: itself, or the next one from 256 on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = (byte for byte in range(256) if byte not in _PRINTABLE)
_BYTE_OF = {chr(byte): byte for byte in _PRINTABLE} | {chr(256 + place): byte for place, byte in enumerate(_OTHERS)}


class Tokenizer:
    """Text to ids and back, exactly so for any text; an open tokenizer may normalize its text first, as Qwen's do."""

    def __init__(self, tokenizer: _Tokenizer) -> None:
        self._tokenizer = tokenizer

    @property
    def vocabulary(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Sequence[int]) -> str:
        return self._tokenizer.decode(list(tokens), skip_special_tokens=False)

    def spell(self, token: int) -> bytes:
        """Bytes that a token writes, which may be a part of a character; empty for an id without a token. For
        byte-level vocabularies."""
        added = self._added.get(token)
        if added is not None:
            return added.content.encode()
        return bytes(_BYTE_OF[character] for character in self._tokenizer.id_to_token(token) or "")

    def knows(self, token: str) -> bool:
        return self._tokenizer.token_to_id(token) is not None

    def token_bytes(self) -> dict[int, bytes]:
        """Bytes that each token writes; turns, images and other control tokens are left out. For byte-level
        vocabularies."""
        control = {token for token, each in self._added.items() if each.special}
        return {token: self.spell(token) for token in {*self._tokenizer.get_vocab().values()} - control}

    def id_of(self, token: str) -> int:
        """The id of one special token; raises InputError when the tokenizer has no such token."""
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise InputError(f"the tokenizer has no token {token!r}")
        return found

    @functools.cached_property
    def _added(self) -> dict[int, AddedToken]:
        return self._tokenizer.get_added_tokens_decoder()

    @functools.cached_property
    def image(self) -> int:
        """Image token of our own tokenizer, or of the Qwen families'."""
        return self._first_of("<|image|>", "<|image_pad|>")

    @functools.cached_property
    def end(self) -> int:
        return self._first_of("<|end|>", "<|im_end|>")

    def _first_of(self, *tokens: str) -> int:
        return self.id_of(next(filter(self.knows, tokens), tokens[0]))


def load_tokenizer(path: Path = COMMITTED) -> Tokenizer:
    """Reads a tokenizer.json; raises InputError when it is missing or not one."""
    try:
        tokenizer = _Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise InputError(f"{path} is not a tokenizer file: {error}") from error
    # Tools that fine-tune leave in the file what they last cut and filled texts to.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return Tokenizer(tokenizer)


def train_tokenizer(corpus: Iterable[str], vocabulary: int) -> _Tokenizer:
    """Byte-level BPE of at most `vocabulary` tokens of all kinds; merges stay within one number or one word."""
    tokenizer = _Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?[0-9]{1,4}| ?[A-Za-z]+|[^0-9A-Za-z ]| "), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(CALL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        special_tokens=[AddedToken(token, normalized=False) for token in TURN_TOKENS],
    )
    tokenizer.train_from_iterator(corpus, trainer)
    # Only now: training numbers its vocabulary from 0 and would give their ids away a second time.
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in CALL_TOKENS])
    return tokenizer
