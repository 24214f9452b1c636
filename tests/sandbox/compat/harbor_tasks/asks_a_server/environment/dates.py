"""An MCP server over stdin and stdout with one tool: the weekday of a date."""

import datetime
import json
import sys

TOOL = {
    "name": "weekday",
    "description": "The weekday of a date such as 2026-11-29.",
    "inputSchema": {"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
}


def answer(call: dict) -> dict:
    if call["method"] == "initialize":
        info = {"name": "dates", "version": "1"}
        return {"protocolVersion": call["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if call["method"] == "tools/list":
        return {"tools": [TOOL]}
    if call["method"] != "tools/call":
        raise LookupError(call["method"])
    day = datetime.date.fromisoformat(call["params"]["arguments"]["date"])
    return {"content": [{"type": "text", "text": day.strftime("%A")}]}


for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        try:
            said = {"result": answer(call)}
        except LookupError as error:
            said = {"error": {"code": -32601, "message": f"there is no method {error}"}}
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], **said}), flush=True)
