"""Contents of MCP's results, as an agent reads them: text within a bound, and pictures as PNG. And the other way."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from typing import Any

import mcp_types as types

from tars_jax.pictures import as_seen, opened
from tars_jax.sandbox.shell.text import cut
from tars_jax.sandbox.tools.forms import LIMIT, ToolResult

MOST_IMAGES = 4
LARGEST_IMAGE = 4096  # pixels, of either side
MOST_BYTES = 16 << 20  # of an image as it comes
MOST_BLOCKS = 1000


def answer_of(result: types.CallToolResult) -> ToolResult:
    """Answer of a tool; of what cannot be shown, such as sound, a line says what it was."""
    texts: list[str] = []
    images: list[bytes] = []
    for block in result.content[:MOST_BLOCKS]:
        if isinstance(block, types.ImageContent):
            image = _png(block.data) if len(images) < MOST_IMAGES else None
            images += [image] if image else []
            texts.append(f"[image {len(images)}]" if image else f"[{_about('image', block.mime_type, block.data)}]")
        else:
            texts.append(_text(block))
    if len(result.content) > MOST_BLOCKS:
        texts.append(f"[{len(result.content) - MOST_BLOCKS} further parts are left out]")
    if (structured := result.structured_content) is not None and not _says(texts, structured):
        texts.append(json.dumps(structured, ensure_ascii=False))
    text = "\n".join(_sound(each) for each in texts) or ("the call failed" if result.is_error else "[no output]")
    return ToolResult(cut(text, LIMIT), tuple(images), result.is_error)


def result_of(answer: ToolResult) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(text=_sound(answer.text))]
    for image in answer.images:
        content.append(types.ImageContent(data=base64.b64encode(image).decode(), mime_type="image/png"))
    return types.CallToolResult(content=content, is_error=answer.failed)


def _says(texts: list[str], structured: Any) -> bool:
    """Whether a text has the same as JSON, as the protocol advises, or is the only value, as the library has it."""
    only = structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else structured
    for text in texts:
        if text == only:
            return True
        with contextlib.suppress(ValueError, RecursionError):
            if json.loads(text) in (structured, only):
                return True
    return False


def _text(block: Any) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, types.TextResourceContents):
            return f"[{resource.uri}]\n{resource.text}"
        return f"[{_about(str(resource.uri), resource.mime_type, resource.blob)}]"
    if isinstance(block, types.ResourceLink):
        return f"[link: {block.name}, {block.uri}]"
    if isinstance(block, types.AudioContent):
        return f"[{_about('audio', block.mime_type, block.data)}]"
    return f"[{type(block).__name__}]"


def _about(what: str, kind: str | None, data: str) -> str:
    return f"{what}: {kind or 'of no kind'}, about {len(data) * 3 // 4:,} bytes, not shown"


def _png(data: str) -> bytes | None:
    """None for what is no picture, or too large a one."""
    if len(data) > MOST_BYTES * 4 // 3:
        return None
    try:
        with opened(base64.b64decode(data)) as picture:
            if max(picture.size) > LARGEST_IMAGE:
                return None
            buffer = io.BytesIO()
            as_seen(picture).save(buffer, "PNG", compress_level=1)
    except Exception:  # Pillow's decoders raise what they like
        return None
    return buffer.getvalue()


def _sound(text: str) -> str:
    """Without halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode(errors="replace").decode()
