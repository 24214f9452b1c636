"""What the server refuses, in OpenAI's form of errors."""

import asyncio
import base64
import contextlib
import dataclasses
import gzip
import io
import json
import socket
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from tars_jax import InputError
from tars_jax.inference.engine import Engine
from tars_jax.inference.server import Served, ServerConfig, make_app, serving
from tars_jax.model.config import ModelConfig
from tars_jax.model.policy import Parameters
from tars_jax.web import responses
from tars_jax.web.connections import Connections
from tests.waiting import PATIENCE_S, wait_until

OtherServer = Callable[..., contextlib.AbstractContextManager[str]]
CHAT = "/v1/chat/completions"
USER = [{"role": "user", "content": "what"}]


def image(url: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


def require_error(response: httpx.Response, status: int, param: str | None = None, words: str = "") -> None:
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (status, param), error
    assert set(error) == {"message", "type", "param", "code"} and error["type"].endswith("_error")
    assert words in error["message"]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "what"}, "messages"),
        ({"messages": ["what"]}, "messages[0]"),
        ({"messages": [{"content": "what"}]}, "messages[0].role"),
        ({"messages": [{"role": "king", "content": "what"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "half \ud800"}]}, "messages[0].content"),
        ({"messages": [*USER, {"role": "user", "content": [{"type": "video"}]}]}, "messages[1].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": "what", "color": 1}]}, "messages[0].color"),
        ({"messages": [*USER, {"role": "assistant", "content": "done"}]}, "messages"),
        ({"messages": image("https://example.org/a.png")}, "messages[0].content[0].image_url.url"),
        ({"messages": image("data:image/svg+xml;base64,AAAA")}, "messages[0].content[0].image_url.url"),
        ({"messages": image("data:image/png;base64,%%%")}, "messages[0].content[0].image_url.url"),
        ({"messages": image("data:image/png;base64,AAAA")}, "messages[0].content[0].image_url.url"),
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"top_k": 1.5}, "top_k"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 2, "max_completion_tokens": 3}, "max_tokens"),
        ({"n": 0}, "n"),
        ({"n": 10**30}, "n"),
        ({"n": 9}, "n"),  # the engine's queue holds eight: it would be busy whenever one asks
        ({"stop": ["a", ""]}, "stop"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"seed": "x"}, "seed"),
        ({"stream": 1}, "stream"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"logprobs": True, "top_logprobs": 5}, "top_logprobs"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"presence_penalty": 2.5}, "presence_penalty"),
        ({"logit_bias": [5]}, "logit_bias"),
        ({"logit_bias": {"5": 101}}, "logit_bias.5"),
        ({"logit_bias": {"05": 1}}, "logit_bias.05"),
        ({"logit_bias": {"99999": 1}}, "logit_bias.99999"),
        ({"logit_bias": {str(token): 1 for token in range(9)}}, "logit_bias"),  # the engine takes eight
        ({"tools": [{"type": "function"}]}, "tools[0].function"),
        ({"tools": [{"type": "custom"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": 5}}]}, "tools[0].function.parameters"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": {"\ud800": 1}}}]}, "tools"),
        ({"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "a"}}]}, "tool_choice"),
        ({"function_call": "auto", "functions": [{"name": "look"}]}, "functions"),
        (
            {"messages": [*USER, {"role": "assistant", "content": None, "tool_calls": [{}]}]},
            "messages[1].tool_calls[0].function",
        ),
        ({"messages": [{"role": "user", "content": "a", "tool_calls": [{}]}]}, "messages[0].tool_calls"),
        ({"response_format": {"type": "json_object"}}, "response_format"),  # it does not know its tokens' spelling
        ({"temprature": 1}, "temprature"),
        ({"\ud800": 1}, "\ud800"),
    ],
)
def test_bad_fields_are_named(http: httpx.Client, change: dict[str, Any], param: str) -> None:
    body = json.dumps({"model": "tiny", "messages": USER, "max_tokens": 2, **change})
    response = http.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    require_error(response, 400, param)


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff\xfe\xff", b'{"n": NaN}', b"[" * 10**5, b"1" * 9999])
def test_bodies_that_are_no_json_object(http: httpx.Client, body: bytes) -> None:
    response = http.post(CHAT, content=body, headers={"Content-Type": "application/json"})
    require_error(response, 400, words="the body")


def test_a_bomb_of_pixels_is_not_unpacked(http: httpx.Client) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    for side in (5000, 30_000):
        head = chunk(b"IHDR", side.to_bytes(4, "big") * 2 + b"\x08\x02\x00\x00\x00")
        png = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", b"")
        url = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        response = http.post(CHAT, json={"model": "tiny", "messages": image(url)})
        require_error(response, 400, "messages[0].content[0].image_url.url", "must have at most 16777216")


def test_neutral_fields_are_taken(http: httpx.Client, chat: Callable[..., dict[str, Any]]) -> None:
    body = chat(user="me", store=False, n=None, presence_penalty=0, logit_bias={}, tools=[], metadata={"run": "1"})
    assert http.post(CHAT, json=body).status_code == 200


def test_paths_methods_and_types(http: httpx.Client, chat: Callable[..., dict[str, Any]]) -> None:
    require_error(http.get("/v2/models"), 404, words="/v2/models")
    require_error(http.get(CHAT), 405, words="GET")
    require_error(http.post(CHAT, content=json.dumps(chat())), 415, words="application/json")
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    response = http.post(CHAT, content=gzip.compress(json.dumps(chat()).encode()), headers=packed)
    require_error(response, 415, words="Content-Encoding must be identity; got 'gzip'")
    require_error(http.post("/v1/rl/sessions/nobody/respond", json={"tokens": [1]}), 404, words="no such session")


def test_keys(other_server: OtherServer, chat: Callable[..., dict[str, Any]]) -> None:
    with other_server(api_key="Sesame-1") as address, httpx.Client(base_url=address, timeout=600) as http:
        assert http.get("/health").json() == {"status": "ok", "model": "tiny", "version": 0}
        for headers in ({}, {"Authorization": "Bearer sesame-1"}, {"Authorization": "Sesame-1"}):
            for method, path in (("GET", "/metrics"), ("POST", CHAT), ("PUT", "/v1/rl/weights"), ("GET", "/nowhere")):
                response = http.request(method, path, headers=headers)
                require_error(response, 401)
                assert response.headers["www-authenticate"] == "Bearer"
        response = http.post(CHAT, json=chat(), headers={"Authorization": "bearer Sesame-1"})
        assert response.status_code == 200


def test_an_open_door_takes_a_key() -> None:
    with pytest.raises(InputError, match=r"server.api_key must be given where others can reach server.host, 0.0.0.0"):
        ServerConfig(host="0.0.0.0")
    with pytest.raises(InputError, match="server.api_key must be printable ASCII"):
        ServerConfig(api_key="two words")


def test_a_taken_port_is_one_sentence(other_server: OtherServer, server: str) -> None:
    port = int(server.rpartition(":")[2])
    with pytest.raises(InputError, match=f"got 127.0.0.1:{port}"), other_server(port=port):
        pass


def test_a_name_bent_to_this_machine_is_refused(http: httpx.Client) -> None:
    require_error(http.get("/health", headers={"Host": "evil.example"}), 400, words="evil.example")
    assert http.get("/health", headers={"Host": "localhost:80"}).status_code == 200


def test_large_bodies(http: httpx.Client) -> None:
    def pieces() -> Any:
        for _ in range(40):
            yield b" " * (1 << 16)

    headers = {"Content-Type": "application/json"}
    require_error(http.post(CHAT, content=b" " * (1 << 21), headers=headers), 413, words="1048576 bytes")
    require_error(http.post(CHAT, content=pieces(), headers=headers), 413, words="1048576 bytes")
    assert http.get("/health").status_code == 200


def test_who_writes_all_before_reading_hears_why(server: str) -> None:
    """As our own client and most others do; a connection closed at once would lose the answer to a reset."""

    async def post(size: int) -> tuple[int, bytes]:
        async with Connections(server, {}) as connections:
            received = await connections.request("POST", CHAT, b" " * size)
            return received.status, received.body

    for size in (1 << 23, 1 << 26):
        status, body = asyncio.run(post(size))
        assert status == 413 and b"1048576 bytes" in body


def test_a_refused_body_that_does_not_come_is_not_waited_for_long(
    other_server: OtherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "LINGER_SECONDS", 0.2)
    with other_server() as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            lines = [
                f"POST {CHAT} HTTP/1.1",
                f"Host: {host}",
                "Content-Type: application/json",
                "Content-Length: 9999999",
            ]
            connection.sendall("\r\n".join([*lines, "", "{"]).encode())
            received = b""
            while piece := connection.recv(65536):
                received += piece
        assert received.startswith(b"HTTP/1.1 413")


def test_bodies_that_do_not_come(other_server: OtherServer) -> None:
    with other_server(body_seconds=0.2) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=600) as connection:
            lines = [f"POST {CHAT} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", "Content-Length: 90"]
            connection.sendall("\r\n".join([*lines, "", "{"]).encode())
            received = b""
            while piece := connection.recv(65536):  # the server closes: it cannot know where the next request begins
                received += piece
        assert received.startswith(b"HTTP/1.1 408") and b'"code":"body_timeout"' in received


def test_too_many_requests_come_again(
    other_server: OtherServer, engine: Engine, chat: Callable[..., dict[str, Any]], idle: Callable[[], None]
) -> None:
    with other_server(max_requests=1) as address, httpx.Client(base_url=address, timeout=600) as http:
        with http.stream("POST", CHAT, json=chat(stream=True, max_tokens=3000)) as stream:
            pieces = stream.iter_bytes()  # kept: httpx hangs up when it is dropped
            next(pieces)
            response = http.post(CHAT, json=chat())
            require_error(response, 429, words="1 requests are under way")
            assert int(response.headers["retry-after"]) >= 1
            assert http.get("/metrics").status_code == 200
        idle()
        assert http.post(CHAT, json=chat()).status_code == 200


def test_a_full_engine_is_busy(
    http: httpx.Client, engine: Engine, chat: Callable[..., dict[str, Any]], idle: Callable[[], None]
) -> None:
    opened = [http.post("/v1/rl/sessions", json={"seed": seed}) for seed in range(engine.config.max_sessions)]
    assert {response.status_code for response in opened} == {201}
    for response in (http.post("/v1/rl/sessions", json={}), http.post(CHAT, json=chat())):
        require_error(response, 429, words="engine.max_sessions")
        assert response.headers["retry-after"] == "1"
    for response in opened:
        assert http.delete(f"/v1/rl/sessions/{response.json()['id']}").status_code == 204
    assert http.post(CHAT, json=chat()).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_takes_too_long(
    other_server: OtherServer, chat: Callable[..., dict[str, Any]], idle: Callable[[], None], stream: bool
) -> None:
    with other_server(request_seconds=0.2) as address:
        response = httpx.post(address + CHAT, json=chat(max_tokens=4000, stream=stream), timeout=600)
    if response.status_code == 200:  # the stream had begun in time
        assert stream and "[DONE]" not in response.text
        last = json.loads(response.text.strip().rpartition("data: ")[2])
        assert last["error"]["code"] == "timeout"
    else:
        require_error(response, 504, words="no answer within 0.2 seconds")


def metrics(http: httpx.Client) -> dict[str, float]:
    """By name and labels, as a strict parser reads them."""
    response = http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(response.text):
        assert family.documentation and family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            assert f"{sample.name}{{{labels}}}" not in found
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_refusals_at_the_door_are_counted_by_their_routes(other_server: OtherServer) -> None:
    refused = [
        ("POST", CHAT, CHAT),
        ("DELETE", "/v1/rl/sessions/abc", "/v1/rl/sessions/{id}"),
        ("PATCH", "/v1/rl/sessions/abc", "/v1/rl/sessions/{id}"),
        ("GET", "/nowhere/abc", "other"),
    ]
    started = other_server(api_key="Sesame-1", max_body_megabytes=1)
    with started as address, httpx.Client(base_url=address, timeout=600) as http:
        for method, path, _ in refused:
            require_error(http.request(method, path), 401)
        http.headers["Authorization"] = "Bearer Sesame-1"
        require_error(http.post(CHAT, json="x" * (1 << 20)), 413)
        # The rest of a body that was refused is still read when its answer is there.
        wait_until(lambda: f"tars_jax_http_requests_total{{method=POST,path={CHAT},status=413}}" in metrics(http))
        found = metrics(http)
    for method, _, path in refused:
        method = "other" if method == "PATCH" else method
        assert found[f"tars_jax_http_requests_total{{method={method},path={path},status=401}}"] == 1
    assert found[f"tars_jax_http_requests_total{{method=POST,path={CHAT},status=413}}"] == 1


def test_metrics_are_read_by_a_strict_parser(http: httpx.Client, chat: Callable[..., dict[str, Any]]) -> None:
    http.post(CHAT, json=chat())
    before = metrics(http)
    http.post(CHAT, json=chat())
    http.get('/nowhere"\\/there')
    after = metrics(http)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown("tars_jax_engine_tokens_sampled_total{}") == 2
    assert grown(f"tars_jax_http_requests_total{{method=POST,path={CHAT},status=200}}") == 1
    assert grown("tars_jax_http_requests_total{method=GET,path=other,status=404}") == 1
    assert grown(f"tars_jax_http_request_seconds_count{{path={CHAT}}}") == 1
    assert grown(f"tars_jax_http_request_seconds_bucket{{le=+Inf,path={CHAT}}}") == 1
    assert after["tars_jax_engine_slots{}"] == 3 and after["tars_jax_http_requests_active{}"] == 1


def test_health_tells_of_an_engine_that_stopped_before_anybody_asks_again(
    served: Served,
    tiny_model: ModelConfig,
    tiny_parameters: Parameters,
    chat: Callable[..., dict[str, Any]],
    replace_functions: Callable[[Any], None],
) -> None:
    def broken(*_: object) -> Any:
        raise MemoryError("no room on the device")

    replace_functions(lambda functions: dataclasses.replace(functions, prefill=broken))
    engine = Engine(tiny_model, tiny_parameters, served.engine.config, image=5, stop=5, seed=0)
    config = ServerConfig(port=0)
    with engine, serving(make_app(dataclasses.replace(served, engine=engine), config), config) as address:
        assert httpx.get(f"{address}/health").status_code == 200
        assert httpx.post(f"{address}{CHAT}", json=chat()).status_code == 500
        health = httpx.get(f"{address}/health")
        assert (health.status_code, health.json()["status"]) == (503, "stopped")
        require_error(httpx.post(f"{address}{CHAT}", json=chat()), 503, words="the engine has stopped")


@pytest.mark.parametrize("what", ["large images", "long text"])
def test_health_answers_while_much_is_read(http: httpx.Client, idle: Callable[[], None], what: str) -> None:
    """A blank image of 16 million pixels takes 2 KiB."""
    blank = io.BytesIO()
    Image.new("1", (4096, 4096)).save(blank, "PNG")
    whole, damaged = (base64.b64encode(data).decode() for data in (blank.getvalue(), blank.getvalue()[:500]))
    images = [*image(f"data:image/png;base64,{whole}") * 16, *image(f"data:image/png;base64,{damaged}")]
    messages, param = {
        "large images": (images, "messages[16].content[0].image_url.url"),
        "long text": ([{"role": "user", "content": "a" * 160_000}], "messages"),
    }[what]
    took: list[float] = []

    def work() -> None:
        began = time.monotonic()
        response = http.post(CHAT, json={"model": "tiny", "messages": messages})
        took.append(time.monotonic() - began)
        require_error(response, 400, param)

    assert http.get("/health").status_code == 200
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.1)
    began = time.monotonic()
    assert http.get("/health").status_code == 200
    waited = time.monotonic() - began
    thread.join()
    assert waited < took[0] / 3


def test_a_text_that_no_window_holds_is_not_read(
    other_server: OtherServer, chat: Callable[..., dict[str, Any]]
) -> None:
    with other_server(max_body_megabytes=4) as address:
        response = httpx.post(address + CHAT, json=chat("a" * (2 << 20)), timeout=PATIENCE_S)
    require_error(response, 400, "messages", "the messages are 2097152 characters")
