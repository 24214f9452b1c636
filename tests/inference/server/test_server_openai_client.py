"""The unmodified `openai` package against the server."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from tars_jax.inference.chat_template import TurnFormat
from tests.inference.server.conftest import CODEC

MESSAGES: Any = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "where"}]


@pytest.fixture
def client(server: str, idle: Callable[[], None]) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="any", max_retries=0) as client:
        yield client


def with_picture(url: str) -> Any:
    image = {"type": "image_url", "image_url": {"url": url, "detail": "high"}}
    return [{"role": "user", "content": [{"type": "text", "text": "see "}, image]}]


@pytest.mark.slow
def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "tars_jax"
    with pytest.raises(openai.NotFoundError, match="model must be 'tiny'"):
        client.models.retrieve("gpt-4o")


@pytest.mark.slow
def test_text_and_usage(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="tiny", messages=MESSAGES, max_completion_tokens=5)
    # <|user|> + "be brief" + line break + "where" + <|agent|>
    assert answer.usage is not None and answer.usage.prompt_tokens == 1 + 8 + 1 + 5 + 1
    assert answer.usage.completion_tokens == 5 and answer.usage.total_tokens == 21
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.role == "assistant" and answer.choices[0].message.content


def test_what_tools_say_is_read(client: openai.OpenAI) -> None:
    def read(said: str) -> int:
        messages: Any = [
            {"role": "user", "content": "where"},
            {"role": "assistant", "content": "look"},
            {"role": "tool", "tool_call_id": "c", "content": said},
        ]
        answer = client.chat.completions.create(model="tiny", messages=messages, max_tokens=2)
        assert answer.usage is not None
        return answer.usage.prompt_tokens

    assert read("a door") - read("a") == len(" door")


def test_an_answer_depends_on_the_picture(client: openai.OpenAI, picture: Callable[[int], str]) -> None:
    def ask(seed: int) -> tuple[str | None, int]:
        found = client.chat.completions.create(
            model="tiny", messages=with_picture(picture(seed)), max_tokens=24, temperature=0, logprobs=True
        )
        log_probs = found.choices[0].logprobs
        assert log_probs is not None and log_probs.content is not None and found.usage is not None
        return f"{[each.logprob for each in log_probs.content]}", found.usage.prompt_tokens

    first, again, other = ask(1), ask(1), ask(2)
    assert first == again and first != other
    assert first[1] == 1 + 4 + 8 + 1  # turn, text, six image tokens between two, turn


@pytest.mark.parametrize("choices", [1, 3])
def test_a_stream_says_what_an_answer_says(client: openai.OpenAI, picture: Callable[[int], str], choices: int) -> None:
    asked: Any = {
        "model": "tiny", "messages": with_picture(picture(3)), "max_tokens": 30, "seed": 11, "n": choices,
        "logprobs": True, "top_logprobs": 2, "top_p": 0.9,
        "extra_body": {"top_k": 20, "return_token_ids": True},
    }  # fmt: skip
    whole = client.chat.completions.create(**asked)
    text, log_probs, finish = [""] * choices, [list[Any]() for _ in range(choices)], [""] * choices
    tokens, prompts = [list[int]() for _ in range(choices)], []
    usage = None
    for chunk in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        prompts.append(getattr(chunk, "prompt_token_ids", None))
        for choice in chunk.choices:
            tokens[choice.index] += getattr(choice, "token_ids", [])
            text[choice.index] += choice.delta.content or ""
            finish[choice.index] = choice.finish_reason or finish[choice.index]
            if choice.logprobs is not None:
                log_probs[choice.index] += choice.logprobs.content or []
    assert len(whole.choices) == choices and len({choice.message.content for choice in whole.choices}) == choices
    for index, choice in enumerate(whole.choices):
        assert text[index] == choice.message.content and finish[index] == choice.finish_reason
        assert choice.logprobs is not None and choice.logprobs.content is not None
        assert [each.token for each in log_probs[index]] == [each.token for each in choice.logprobs.content]
        assert "".join(each.token for each in log_probs[index]) == text[index]
        assert [each.logprob for each in log_probs[index]] == pytest.approx(
            [each.logprob for each in choice.logprobs.content], abs=1e-5
        )
        for each, same in zip(log_probs[index], choice.logprobs.content, strict=True):
            assert [other.token for other in each.top_logprobs] == [other.token for other in same.top_logprobs]
    assert usage == whole.usage
    assert tokens == [choice.token_ids for choice in whole.choices]
    assert all(CODEC.decode(tokens[index]) == text[index] for index in range(choices))
    assert prompts[0] == whole.prompt_token_ids and set(map(str, prompts[1:])) == {"None"}
    assert usage is not None and len(prompts[0]) == usage.prompt_tokens


def test_what_was_likeliest_stands_beside_each_token(client: openai.OpenAI) -> None:
    asked: Any = {"model": "tiny", "messages": MESSAGES, "max_tokens": 6, "temperature": 0, "logprobs": True}
    found = client.chat.completions.create(**asked, top_logprobs=4).choices[0].logprobs
    assert found is not None and found.content is not None and len(found.content) == 6
    for each in found.content:
        chances = [other.logprob for other in each.top_logprobs]
        assert len(chances) == 4 and chances == sorted(chances, reverse=True)
        assert (each.token, each.logprob) == (each.top_logprobs[0].token, chances[0])  # greedy takes the likeliest
        assert all(bytes(other.bytes or ()).decode() == other.token for other in (each, *each.top_logprobs))
    alone = client.chat.completions.create(**asked).choices[0].logprobs
    assert alone is not None and alone.content is not None and not any(each.top_logprobs for each in alone.content)


def test_seeds(client: openai.OpenAI) -> None:
    def ask(seed: int | None) -> str | None:
        found = client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=20, seed=seed)
        return found.choices[0].message.content

    assert ask(5) == ask(5)
    assert len({ask(5), ask(6), ask(None), ask(None)}) == 4


def test_penalties_as_the_agent_of_ui_tars_asks_for_them(client: openai.OpenAI) -> None:
    asked: Any = {"model": "tiny", "messages": MESSAGES, "max_tokens": 24, "temperature": 0}

    def letters(**penalties: Any) -> int:
        return len(set(client.chat.completions.create(**asked, **penalties).choices[0].message.content or ""))

    plain = letters()
    assert letters(frequency_penalty=2) > plain and letters(presence_penalty=2) > plain
    assert letters(frequency_penalty=0, presence_penalty=-2) <= plain


def test_biases_of_tokens(client: openai.OpenAI, turns: TurnFormat) -> None:
    def written(**more: Any) -> list[str]:
        choice = client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=6, logprobs=True, **more)
        log_probs = choice.choices[0].logprobs
        assert log_probs and log_probs.content
        return [each.token for each in log_probs.content]

    def token(text: str) -> str:
        return str(turns.codec.encode(text)[0])

    assert written(logit_bias={token("a"): 100}) == ["a"] * 6
    plain = written(temperature=0, logit_bias={token("a"): 0})
    assert plain == written(temperature=0)
    assert plain[0] not in written(temperature=0, logit_bias={token(plain[0]): -100})


@pytest.mark.parametrize("stream", [False, True])
def test_stop_sequences(client: openai.OpenAI, stream: bool) -> None:
    asked: Any = {"model": "tiny", "messages": MESSAGES, "max_tokens": 60, "seed": 3}
    text: str = client.chat.completions.create(**asked).choices[0].message.content
    stop = text[20:23]
    found: Any = client.chat.completions.create(**asked, stop=["0", stop], stream=stream)
    if stream:
        chunks = [chunk.choices[0] for chunk in found]
        said, finish = "".join(chunk.delta.content or "" for chunk in chunks), chunks[-1].finish_reason
    else:
        said, finish = found.choices[0].message.content, found.choices[0].finish_reason
    assert said == text[: text.index(stop)] and finish == "stop"


@pytest.mark.parametrize("choices", [1, 2])
def test_a_stop_at_the_first_character_leaves_an_empty_answer(client: openai.OpenAI, choices: int) -> None:
    asked: Any = {"model": "tiny", "messages": MESSAGES, "max_tokens": 9, "seed": 3, "logprobs": True, "n": choices}
    begins = [(choice.message.content or "")[0] for choice in client.chat.completions.create(**asked).choices]
    found = client.chat.completions.create(**asked, stop=begins)
    assert found.system_fingerprint == "version-0" and found.usage is not None and found.usage.completion_tokens == 0
    for choice in found.choices:
        assert (choice.message.content, choice.finish_reason) == ("", "stop")
        assert choice.logprobs is not None and choice.logprobs.content == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"temperature": 0.7, "top_p": 0.8, "logprobs": True, "top_logprobs": 2},
        {"stop": ["a", "q"]},
        {"frequency_penalty": 1.5, "extra_body": {"top_k": 9}},
    ],
)
def test_choice_k_is_the_answer_to_seed_plus_k(client: openai.OpenAI, stream: bool, more: dict[str, Any]) -> None:
    asked: Any = {"model": "tiny", "messages": MESSAGES, "max_tokens": 24, **more}

    def texts(seed: int, n: int) -> list[str]:
        found: Any = client.chat.completions.create(**asked, seed=seed, n=n, stream=stream)
        if not stream:
            return [choice.message.content or "" for choice in found.choices]
        said = [""] * n
        for choice in (each for chunk in found for each in chunk.choices):
            said[choice.index] += choice.delta.content or ""
        return said

    alone = [text for seed in range(2**32 - 2, 2**32 + 2) for text in texts(seed, 1)]
    assert texts(2**32 - 2, 4) == alone and len(set(alone)) == 4


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_stream_takes_back_the_log_probs_of_a_stop_sequence(client: openai.OpenAI, size: int) -> None:
    asked: Any = {"model": "tiny", "messages": MESSAGES, "max_tokens": 60, "seed": 3, "logprobs": True}
    text: str = client.chat.completions.create(**asked).choices[0].message.content
    asked["stop"] = [text[20 : 20 + size], f"{text[4:6]}0"]  # the second one only begins, so what was held back comes
    log_probs = client.chat.completions.create(**asked).choices[0].logprobs
    assert log_probs is not None and log_probs.content is not None
    streamed = [
        each.token
        for chunk in client.chat.completions.create(**asked, stream=True)
        if chunk.choices[0].logprobs is not None
        for each in chunk.choices[0].logprobs.content or []
    ]
    assert streamed == [each.token for each in log_probs.content]
    assert streamed and text.startswith("".join(streamed))


def test_async_client(server: str, picture: Callable[[int], str], idle: Callable[[], None]) -> None:
    async def play() -> None:
        async with openai.AsyncOpenAI(base_url=f"{server}/v1", api_key="any") as client:
            asked: Any = {"model": "tiny", "messages": with_picture(picture(4)), "max_tokens": 12, "seed": 1}
            wholes = await asyncio.gather(*(client.chat.completions.create(**asked) for _ in range(7)))
            stream = await client.chat.completions.create(**asked, stream=True)
            said = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
            assert {whole.choices[0].message.content for whole in wholes} == {said}

    asyncio.run(play())


def test_errors_have_the_types_of_the_client(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="model must be 'tiny'; got 'other'"):
        client.chat.completions.create(model="other", messages=MESSAGES)
    with pytest.raises(openai.BadRequestError, match="must be 0 without logprobs") as found:
        client.chat.completions.create(model="tiny", messages=MESSAGES, top_logprobs=3)
    assert found.value.param == "top_logprobs" and found.value.type == "invalid_request_error"
    with pytest.raises(openai.BadRequestError, match="window holds 4096") as found:
        client.chat.completions.create(model="tiny", messages=MESSAGES, max_tokens=4090)
    assert found.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError, match="constraint must be .*; got 'calls'") as found:
        client.chat.completions.create(model="tiny", messages=MESSAGES, extra_body={"constraint": "calls"})
    assert found.value.param == "constraint"
