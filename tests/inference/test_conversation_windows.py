"""Where a client's next request goes on: in the window that it repeats, or in a new one that reads it all."""

from __future__ import annotations

import concurrent.futures
import random

import numpy as np
import pytest

from tars_jax import InputError
from tars_jax.inference.chat_template import Message, RoleFormat, Template, TurnFormat
from tars_jax.inference.conversation_windows import Conversation, Place
from tars_jax.inference.sampling import Sampled
from tars_jax.model.tokenizer import load_tokenizer

TOKENIZER = load_tokenizer()
STOP = TOKENIZER.end
TURNS = TurnFormat(TOKENIZER, lambda height, width: 2)


def said(role: str, *parts: str | np.ndarray) -> Message:
    return Message(role, parts)


def answer(conversation: Conversation, messages: list[Message], text: str, *, ended: bool = True) -> Place:
    """Asks, is answered, and puts the answer behind the messages as a client does."""
    place = conversation.place(messages)
    tokens = (*TOKENIZER.encode(text), *((STOP,) if ended else ()))
    sampled = Sampled(tokens, (-1.0,) * len(tokens), (3,) * len(tokens))
    conversation.answered(place, sampled, text, text, said("assistant", text), free=True)
    messages.append(said("assistant", text))
    return place


def tokens_of(conversation: Conversation) -> list[list[int]]:
    return [
        [token for turn in window.turns for token in (*turn.tokens, *turn.sampled.tokens)]
        for window in conversation.windows
    ]


def test_a_history_that_grows_is_one_window_of_the_tokens_that_the_whole_of_it_is() -> None:
    conversation, messages = Conversation(TURNS, STOP), [said("system", "Play."), said("user", "one")]
    answer(conversation, messages, "first")
    messages.append(said("user", "two"))
    place = answer(conversation, messages, "second", ended=False)
    assert TOKENIZER.decode(place.unread.tokens) == "<|user|>two<|agent|>" and place.asked == "two"
    messages += [said("tool", "result"), said("user", "three")]
    whole = conversation.place(messages).whole()
    assert whole.tokens == TURNS(messages).tokens  # the end that was cut off is read in its place
    [window] = conversation.windows
    assert [turn.number for turn in window.turns] == [0, 1]


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda messages: [messages[0], said("user", "a summary of it")],  # compacted
        lambda messages: [*messages[:2], said("assistant", "fir"), *messages[3:]],  # thoughts stripped
        lambda messages: [said("system", "You are another agent."), *messages[1:]],
        lambda messages: messages[:2],  # asked again
    ],
)
def test_a_history_that_was_rewritten_is_a_new_window_in_which_nothing_counts_as_sampled(rewritten: object) -> None:
    conversation, messages = Conversation(TURNS, STOP), [said("system", "Play."), said("user", "one")]
    answer(conversation, messages, "first")
    messages.append(said("user", "two"))
    other = rewritten(messages)  # type: ignore[operator]
    place = answer(conversation, other, "second")
    assert len(conversation.windows) == 2 and place.unread == TURNS(other[:-1])
    messages.append(said("user", "three"))
    assert conversation.place(messages).window is not place.window
    assert tokens_of(conversation)[0] == [*TURNS(messages[:2]).tokens, *TOKENIZER.encode("first"), STOP]


def test_two_agents_of_one_episode_have_a_window_each() -> None:
    conversation = Conversation(TURNS, STOP)
    agents = [[said("system", f"Agent {number}."), said("user", "go")] for number in range(2)]
    for turn in range(3):
        for messages in agents:
            answer(conversation, messages, f"turn {turn}")
            messages.append(said("user", f"then {turn}"))
    assert [[turn.number for turn in window.turns] for window in conversation.windows] == [[0, 2, 4], [1, 3, 5]]


def test_white_space_around_an_answer_does_not_count_and_pictures_do() -> None:
    pictures = [np.full((4, 4, 3), value, np.uint8) for value in (0, 1)]
    conversation, messages = Conversation(TURNS, STOP), [said("user", "see ", pictures[0])]
    answer(conversation, messages, "  first\n")
    stripped = [messages[0], said("assistant", "first"), said("user", pictures[1])]
    place = conversation.place(stripped)
    assert place.window is conversation.windows[0] and len(place.unread.images) == 1
    conversation.given_up(place)
    other = [said("user", "see ", pictures[1]), *stripped[1:]]
    assert conversation.place(other).window is not place.window


def test_a_window_that_is_answering_is_not_gone_on_with_and_one_given_up_leaves_nothing() -> None:
    conversation, messages = Conversation(TURNS, STOP), [said("user", "one")]
    first, second = conversation.place(messages), conversation.place(messages)
    assert first.window is not second.window and conversation.busy
    conversation.given_up(first)
    conversation.given_up(second)
    assert not conversation.windows and not conversation.busy
    with pytest.raises(InputError, match="the last of messages must be one to answer"):
        conversation.place([said("assistant", "me")])


def test_what_a_stop_sequence_cut_within_a_token_is_not_gone_on_with() -> None:
    conversation, messages = Conversation(TURNS, STOP), [said("user", "one")]
    place = conversation.place(messages)
    sampled = Sampled((65,), (-1.0,), (0,))
    conversation.answered(place, sampled, "half a", "half", said("assistant", "half a"), free=True)
    messages += [said("assistant", "half a"), said("user", "two")]
    assert conversation.place(messages).window is not place.window


class Letters:
    """A tokenizer of the Qwen families' special tokens and characters."""

    SPECIAL = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|image_pad|>", "<|vision_end|>")

    def encode(self, text: str) -> list[int]:
        found = []
        while text:
            special = next((each for each in self.SPECIAL if text.startswith(each)), "")
            found.append(self.SPECIAL.index(special) if special else 5 + ord(text[0]))
            text = text[len(special) or 1 :]
        return found

    def decode(self, tokens: object) -> str:
        return "".join(self.SPECIAL[token] if token < 5 else chr(token - 5) for token in tokens)  # type: ignore[attr-defined]

    def spell(self, token: int) -> bytes:
        return self.decode([token]).encode()


@pytest.mark.parametrize("template", [TURNS, RoleFormat(Letters(), lambda height, width: 3)])
def test_going_on_reads_what_the_whole_prompt_would_hold(template: Template) -> None:
    """Over random conversations: an answer, then what came after it, are the tokens of all of it at once."""
    rng = random.Random(0)
    codec = template.codec  # type: ignore[attr-defined]
    stop = codec.encode("<|im_end|>" if isinstance(template, RoleFormat) else "<|end|>")
    picture = np.zeros((4, 4, 3), np.uint8)
    for _ in range(60):
        first = [said(rng.choice(["system", "user"]), "hi"), said("user", "you", picture)]
        later = [
            said(rng.choice(["user", "tool", "assistant"]), rng.choice(["a", "two words", "x\n"]))
            for _ in range(rng.randrange(4))
        ]
        later.append(said(rng.choice(["user", "tool"]), "last"))
        begun = template(first)
        for ended in (True, False):
            tokens = [*codec.encode("an answer"), *(stop if ended else [])]
            after = template.after(later, ended=ended)
            assert [*begun.tokens, *tokens, *after.tokens] == template(
                [*first, said("assistant", "an answer"), *later]
            ).tokens


def test_requests_that_come_at_once_from_several_threads_have_a_window_each() -> None:
    conversation, messages = Conversation(TURNS, STOP), [said("user", "one " * 4000)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        places = list(pool.map(lambda _: conversation.place(messages), range(8)))
    assert len({id(place.window) for place in places}) == 8
    for place in places[1:]:
        conversation.given_up(place)
    with pytest.raises(InputError, match="must be one to answer"):
        conversation.place([said("assistant", "x")])
    assert conversation.busy and conversation.windows == ()
    conversation.given_up(places[0])
    assert not conversation.busy
