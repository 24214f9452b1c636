"""A server with the tools, prompts and resources that MCP's conformance suite asks for by name, over ToolServer.

What a computer's functions are made of (text, pictures, failures, schemas) is answered by ToolServer itself; the rest,
which no computer has, by the handlers here.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ToolsListChanged

from tars_jax.environment import Function
from tars_jax.sandbox.tools.forms import ToolResult
from tars_jax.sandbox.tools.mcp.tool_server import ToolServer

Context = ServerRequestContext[Any]
Result = types.CallToolResult | types.InputRequiredResult
Handler = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\0\0\0\0"
_TEXT, _EMPTY = {"type": "string"}, {"type": "object", "properties": {}}
_ADDRESS = {
    "$anchor": "addressDef", "type": "object", "properties": {"street": _TEXT, "city": _TEXT},
}  # fmt: skip
_SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"address": _ADDRESS},
    "properties": {
        "name": _TEXT, "address": {"$ref": "#/$defs/address"}, "phone": _TEXT, "email": _TEXT,
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False,
}  # fmt: skip
_IN_HEADER = {
    "type": "object", "required": ["region"],
    "properties": {"region": {**_TEXT, "x-mcp-header": "Region"}, "note": _TEXT},
}  # fmt: skip
PLAIN = (
    Function("test_simple_text", "A text.", _EMPTY), Function("test_image_content", "A picture.", _EMPTY),
    Function("test_error_handling", "A failure.", _EMPTY),
    Function("json_schema_2020_12_tool", "A schema with much in it.", _SCHEMA_2020),
    Function("test_headers", "An argument that is in a header, too.", _IN_HEADER),
)  # fmt: skip
_ANSWERS = {
    "test_simple_text": ToolResult("This is a simple text response for testing."),
    "test_image_content": ToolResult("[image 1]", (PNG,)),
    "test_error_handling": ToolResult("This tool intentionally returns an error for testing", failed=True),
}


async def _plain(name: str, arguments: Mapping[str, Any]) -> ToolResult:
    return _ANSWERS.get(name) or ToolResult(json.dumps(dict(arguments)))


def text(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words)])


def embedded(uri: str, kind: str, words: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=kind, text=words))


def picture() -> types.ImageContent:
    return types.ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")


def asked(message: str, **properties: dict[str, Any]) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampled(words: str, tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


def said(params: types.CallToolRequestParams | types.GetPromptRequestParams, key: str, field: str) -> Any:
    """What a client answered to one of the requests of an InputRequiredResult; None where it did not."""
    answer = (params.input_responses or {}).get(key)
    if isinstance(answer, types.ElicitResult):
        return (answer.content or {}).get(field)
    return answer


class ConformanceServer(ToolServer):
    """`server` as of any ToolServer."""

    def __init__(self) -> None:
        super().__init__("tars_jax conformance", PLAIN, _plain)
        self._bus = InMemorySubscriptionBus()
        self._own: dict[str, Handler] = {
            name: getattr(self, name) for name in dir(self) if name.startswith("test_")
        }  # fmt: skip
        add = self.server.add_request_handler
        add("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        add("resources/list", types.PaginatedRequestParams, self._list_resources)
        add("resources/templates/list", types.PaginatedRequestParams, self._list_templates)
        add("resources/read", types.ReadResourceRequestParams, self._read)
        add("resources/subscribe", types.SubscribeRequestParams, self._nothing)
        add("resources/unsubscribe", types.UnsubscribeRequestParams, self._nothing)
        add("completion/complete", types.CompleteRequestParams, self._complete)
        add("logging/setLevel", types.SetLevelRequestParams, self._nothing)
        add("subscriptions/listen", types.SubscriptionsListenRequestParams, ListenHandler(self._bus))
        boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="conformance")
        self.server.middleware.append(boundary)

    async def _list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        listed = await super()._list(context, params)
        schema = {"type": "object", "properties": {"prompt": _TEXT, "message": _TEXT}}
        own = [types.Tool(name=name, description="Of the suite's own.", input_schema=schema) for name in self._own]
        return types.ListToolsResult(tools=[*listed.tools, *own])

    async def _called(self, context: Context, params: types.CallToolRequestParams) -> Any:
        if handler := self._own.get(params.name):
            return await handler(context, params)
        return await super()._called(context, params)

    async def _nothing(self, context: Context, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))

    # Content.

    async def test_audio_content(self, context: Context, params: types.CallToolRequestParams) -> Result:
        sound = types.AudioContent(data=base64.b64encode(WAV).decode(), mime_type="audio/wav")
        return types.CallToolResult(content=[sound])

    async def test_embedded_resource(self, context: Context, params: types.CallToolRequestParams) -> Result:
        resource = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        return types.CallToolResult(content=[resource])

    async def test_multiple_content_types(self, context: Context, params: types.CallToolRequestParams) -> Result:
        data = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        words = types.TextContent(text="Multiple content types test:")
        return types.CallToolResult(content=[words, picture(), data])

    # What a server says meanwhile.

    async def test_tool_with_logging(self, context: Context, params: types.CallToolRequestParams) -> Result:
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await context.session.send_log_message("info", words, related_request_id=context.request_id)
            await asyncio.sleep(0.05)
        return text("done")

    test_logging_tool = test_tool_with_logging

    async def test_tool_with_progress(self, context: Context, params: types.CallToolRequestParams) -> Result:
        for progress in (0, 50, 100):
            await context.session.report_progress(progress, 100)
            await asyncio.sleep(0.05)
        return text("done")

    async def test_reconnection(self, context: Context, params: types.CallToolRequestParams) -> Result:
        if context.close_sse_stream is not None:
            await context.close_sse_stream()
        await asyncio.sleep(0.2)
        return text("it came after the stream was closed")

    async def test_trigger_tool_change(self, context: Context, params: types.CallToolRequestParams) -> Result:
        await self._bus.publish(ToolsListChanged())
        return text("done")

    async def test_trigger_prompt_change(self, context: Context, params: types.CallToolRequestParams) -> Result:
        await self._bus.publish(PromptsListChanged())
        return text("done")

    # What a server asks meanwhile, of clients of 2025-11-25.

    async def test_sampling(self, context: Context, params: types.CallToolRequestParams) -> Result:
        request = sampled((params.arguments or {}).get("prompt", ""))
        answer = await context.session.send_request(request, types.CreateMessageResult)
        return text(f"LLM response: {getattr(answer.content, 'text', '')}")

    async def _ask(self, context: Context, message: str, properties: dict[str, dict[str, Any]]) -> Result:
        schema = {"type": "object", "properties": properties, "required": []}
        answer = await context.session.elicit_form(message, schema, context.request_id)
        return text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")

    async def test_elicitation(self, context: Context, params: types.CallToolRequestParams) -> Result:
        fields = {"username": {**_TEXT, "description": "User's response"}, "email": {**_TEXT, "description": "Email"}}
        return await self._ask(context, (params.arguments or {}).get("message", ""), fields)

    async def test_elicitation_sep1034_defaults(self, context: Context, params: types.CallToolRequestParams) -> Result:
        status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
        return await self._ask(context, "With defaults", {
            "name": {**_TEXT, "default": "John Doe"}, "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5}, "status": status,
            "verified": {"type": "boolean", "default": True},
        })  # fmt: skip

    async def test_elicitation_sep1330_enums(self, context: Context, params: types.CallToolRequestParams) -> Result:
        three = ["option1", "option2", "option3"]
        titled = [
            {"const": f"value{n}", "title": f"{nth} Option"} for n, nth in enumerate(("First", "Second", "Third"), 1)
        ]
        return await self._ask(context, "With choices", {
            "untitledSingle": {"type": "string", "enum": three}, "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": three}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        })  # fmt: skip

    # What a server needs to go on, of clients of 2026-07-28.

    async def test_missing_capability(self, context: Context, params: types.CallToolRequestParams) -> Result:
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            needed: Any = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "the client must have sampling", needed)
        return text("it has")

    async def test_input_required_result_elicitation(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        if isinstance(name := said(params, "user_name", "name"), str):
            return text(f"Hello, {name}!")
        return types.InputRequiredResult(input_requests={"user_name": asked("What is your name?", name=_TEXT)})

    test_streaming_elicitation = test_input_required_result_elicitation

    async def test_input_required_result_sampling(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        if answer := said(params, "capital_question", ""):
            return text(f"The model says: {getattr(answer.content, 'text', '')}")
        return types.InputRequiredResult(input_requests={"capital_question": sampled("What is the capital of France?")})

    async def test_input_required_result_list_roots(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        if answer := said(params, "client_roots", ""):
            return text(f"Roots: {', '.join(str(root.uri) for root in answer.roots)}")
        return types.InputRequiredResult(input_requests={"client_roots": types.ListRootsRequest()})

    async def test_input_required_result_request_state(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        if params.request_state == "waits" and said(params, "confirm", "ok") is not None:
            return text("state-ok")
        return types.InputRequiredResult(
            input_requests={"confirm": asked("Please confirm", ok={"type": "boolean"})}, request_state="waits"
        )  # fmt: skip

    test_input_required_result_tampered_state = test_input_required_result_request_state

    async def test_input_required_result_multiple_inputs(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        if {"user_name", "greeting", "client_roots"} <= set(params.input_responses or {}):
            return text("all three came")
        needed: types.InputRequests = {
            "user_name": asked("What is your name?", name=_TEXT), "greeting": sampled("Generate a greeting", 50),
            "client_roots": types.ListRootsRequest(),
        }  # fmt: skip
        return types.InputRequiredResult(input_requests=needed, request_state="three")

    async def test_input_required_result_multi_round(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        if params.request_state == "second" and isinstance(color := said(params, "step2", "color"), str):
            return text(f"done, in {color}")
        if params.request_state == "first" and isinstance(said(params, "step1", "name"), str):
            step = asked("Step 2: What is your favorite color?", color=_TEXT)
            return types.InputRequiredResult(input_requests={"step2": step}, request_state="second")
        step = asked("Step 1: What is your name?", name=_TEXT)
        return types.InputRequiredResult(input_requests={"step1": step}, request_state="first")

    async def test_input_required_result_capabilities(
        self, context: Context, params: types.CallToolRequestParams
    ) -> Result:
        capabilities = context.session.client_capabilities or types.ClientCapabilities()
        needed: types.InputRequests = {}
        if capabilities.sampling is not None:
            needed["sample"] = sampled("Generate a greeting")
        if capabilities.elicitation is not None:
            needed["name"] = asked("What is your name?", name=_TEXT)
        return types.InputRequiredResult(input_requests=needed) if needed else text("the client can do neither")

    # Prompts and resources.

    async def _list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:
        arguments = {
            "test_prompt_with_arguments": ("arg1", "arg2"), "test_prompt_with_embedded_resource": ("resourceUri",),
        }  # fmt: skip
        names = (
            "test_simple_prompt", *arguments, "test_prompt_with_image", "test_input_required_result_prompt",
        )  # fmt: skip
        return types.ListPromptsResult(prompts=[
            types.Prompt(name=name, description="Of the suite's own.", arguments=[
                types.PromptArgument(name=each, description="A word", required=True) for each in arguments.get(name, ())
            ]) for name in names
        ])  # fmt: skip

    async def _get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        given = params.arguments or {}
        blocks: list[types.ContentBlock]
        match params.name:
            case "test_simple_prompt":
                blocks = [types.TextContent(text="This is a simple prompt for testing.")]
            case "test_prompt_with_arguments":
                words = f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
                blocks = [types.TextContent(text=words)]
            case "test_prompt_with_embedded_resource":
                resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
                blocks = [resource, types.TextContent(text="Please process the embedded resource above.")]
            case "test_prompt_with_image":
                blocks = [picture(), types.TextContent(text="Please analyze the image above.")]
            case "test_input_required_result_prompt":
                if not isinstance(words := said(params, "user_context", "context"), str):
                    request = asked("What context should the prompt use?", context=_TEXT)
                    return types.InputRequiredResult(input_requests={"user_context": request})
                blocks = [types.TextContent(text=f"In the context of {words}")]
            case _:
                raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r:.80}")
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=each) for each in blocks])

    async def _list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:
        kinds = {"static-text": "text/plain", "static-binary": "image/png", "watched-resource": "text/plain"}
        return types.ListResourcesResult(resources=[
            types.Resource(uri=f"test://{name}", name=name, description="Of the suite's own.", mime_type=kind)
            for name, kind in kinds.items()
        ])  # fmt: skip

    async def _list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template="test://template/{id}/data", name="template", mime_type="application/json"
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def _read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri == "test://static-binary":
            blob = base64.b64encode(PNG).decode()
            return types.ReadResourceResult(
                contents=[types.BlobResourceContents(uri=uri, mime_type="image/png", blob=blob)]
            )  # fmt: skip
        texts = {
            "test://static-text": "This is the content of the static text resource.",
            "test://watched-resource": "Watched.",
        }
        words, kind = texts.get(uri), "text/plain"
        if uri.startswith("test://template/") and uri.endswith("/data"):
            id = uri.removeprefix("test://template/").removesuffix("/data")
            words, kind = json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"}), "application/json"
        if words is None:
            raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=words)])
