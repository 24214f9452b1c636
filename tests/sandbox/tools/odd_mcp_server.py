"""An MCP server over stdin and stdout that does what its first argument says. Python's standard library alone."""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
import threading
import time
import zlib
from typing import Any


def png(width: int, height: int) -> str:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    wrong = struct.pack(">I", 4) + b"iCCP" + b"abcd" + b"none"  # a profile with a wrong checksum
    body = chunk(b"IHDR", head) + wrong + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say_all(messages: list[dict[str, Any]]) -> None:
    for message in messages:
        say(message)


def tool(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object", **schema}}


TEXT = {"properties": {"text": {"type": "string"}}, "required": ["text"]}
ODD_NAMES = {
    "properties": {
        "$filter": {"type": "string"}, "城市": {"type": "object", "properties": {"$filter": {"type": "integer"}}},
        "filter": {"anyOf": [{"$ref": "#/properties/$filter"}, {"type": "integer"}]},
    },
    "required": ["城市"], "dependentRequired": {"$filter": ["城市", "filter"]},
}  # fmt: skip
TOOLS = [
    tool("echo", **TEXT), tool("count"), tool("die"), tool("hang"), tool("picture"), tool("many"), tool("error"),
    tool("refuse"), tool("nonsense"), tool("huge"), tool("change"), tool("click"), tool("odd näme!"), tool("1st"),
    tool("print"), tool("half"), tool("later"), tool("structured"),
    tool("no object", type="array"), tool("query", **ODD_NAMES), {"name": "no schema"}, 5, tool("wide", required="a"),
    tool("all of", properties={"$a": {}}, allOf=5),
]  # fmt: skip
count = 0


def result(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def called(name: str, arguments: dict[str, Any], number: Any) -> dict[str, Any] | None:
    global count
    count += 1
    match name:
        case "echo":
            return result(arguments["text"])
        case "count":
            return result(str(count))
        case "query":
            return result(json.dumps(arguments, ensure_ascii=False, sort_keys=True))
        case "structured":
            kinds = {
                "beside": ("see there", {"value": [1, "ü"]}), "same": ('{"value": 1}', {"value": 1}),
                "only": ("text", {"result": "text"}),
            }  # fmt: skip
            text, structured = kinds[arguments["kind"]]
            return result(text, structuredContent=structured)
        case "die":
            os._exit(3)
        case "hang":
            time.sleep(3600)
        case "picture":
            picture = {"type": "image", "data": png(6, 4), "mimeType": "image/png"}
            none = {"type": "image", "data": "bm8gcGljdHVyZQ==", "mimeType": "image/webp"}
            sound = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
            return {"content": [{"type": "text", "text": "see"}, picture, none, sound]}
        case "many":
            return {"content": [{"type": "text", "text": f"line {n}"} for n in range(5000)]}
        case "later":  # under every number that its client might use next
            later = threading.Timer(1.5, say_all, [[{"id": each, "result": result("late")} for each in range(100)]])
            later.daemon = True
            later.start()
            return None
        case "error":
            return result("that is not there", isError=True)
        case "refuse":
            say({"id": number, "error": {"code": -32602, "message": "never"}})
            return None
        case "nonsense":
            return {"content": [{"type": "what"}, 5], "isError": "perhaps"}
        case "huge":
            return result("x" * (9 << 20))
        case "change":
            say({"method": "notifications/tools/list_changed"})
            return result("changed")
        case "print":
            for line in range(200):
                print(f"log line {line}", flush=True)
            return result("printed")
        case "half":
            sys.stdout.write('{"jsonrpc": "2.0", "id": ')
            sys.stdout.flush()
            os._exit(0)
    return result(f"called {name}")


def main(kind: str) -> None:
    if kind == "silent":
        time.sleep(3600)
    if kind == "prints":
        print("no message at all\n" * 1000, flush=True)
        time.sleep(3600)
    tools = TOOLS if kind == "good" else [tool(f"tool_{n}") for n in range(5000)]
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message["method"], message.get("params") or {}
        if number is None:
            continue
        if method == "initialize":
            version = params["protocolVersion"]
            say({"id": number, "result": {
                "protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}
            }})  # fmt: skip
        elif method == "tools/list":
            start = int(params.get("cursor", 0))
            page: dict[str, Any] = {"tools": tools[start : start + 100]}
            if kind == "endless":
                page = {"tools": [], "nextCursor": "0"}
            elif start + 100 < len(tools):
                page["nextCursor"] = str(start + 100)
            say({"id": number, "result": page})
        elif method == "tools/call":
            if (answer := called(params["name"], params.get("arguments", {}), number)) is not None:
                say({"id": number, "result": answer})
        else:
            say({"id": number, "error": {"code": -32601, "message": "no such method"}})


main(sys.argv[1])
