"""The plain form, of chat models: what is written is what is said, after a thought in a tag.

    <think>seven and five is twelve</think>12

It is for spaces with one call alone, which takes one text: `finished`, or a function such as `answer`. The text stands
as it is, without the white space around it and the end of the turn; an empty one is a text, too. Without a thought
there is no think tag, but where the text itself holds a closing one. A closing tag inside a thought gets a backslash,
as in the tool form.
"""

from __future__ import annotations

import re
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import ActionError, Finished, ToolCall
from tars_jax.agent.answer import END_OF_TURN
from tars_jax.agent.calls import actions_from_call
from tars_jax.agent.grammar_tool import check_tag, escape, unescape
from tars_jax.agent.response import ErrorKind, ParseError, Response, parse_error_of
from tars_jax.agent.schemas import kinds_of
from tars_jax.environment import ActionSpace

PLAIN = "plain"
_SAYS = (Finished.name, "content")
_END = re.compile(rf"{END_OF_TURN}\Z", re.IGNORECASE)


def text_call(space: ActionSpace | None) -> tuple[str, str] | None:
    """The one call of a space and its one parameter, a text; None for a space that has another call. Without a space:
    `finished`."""
    if space is None or (space.actions == (Finished.name,) and not space.functions):
        return _SAYS
    if space.actions or len(space.functions) != 1:
        return None
    schema = space.functions[0].parameters
    names = list(schema.get("properties", ()))
    if len(names) != 1 or kinds_of(schema["properties"][names[0]], schema) != {"string"}:
        return None
    return space.functions[0].name, names[0]


def require_text_call(space: ActionSpace | None) -> tuple[str, str]:
    """Raises InputError for a space that plain text cannot call."""
    if (found := text_call(space)) is None:
        assert space is not None
        names = [*space.actions, *(function.name for function in space.functions)]
        raise InputError(
            f"agent.grammar must be text or tool where more can be called than one function of one text; got {PLAIN!r} "
            f"with {', '.join(names[:6])}"
        )
    return found


def format_plain(response: Response, think_tag: str = "think") -> str:
    """The text of a response. Raises InputError for one that says anything but one text."""
    check_tag(think_tag)
    action, closing = response.actions[0], f"</{think_tag}>"
    texts: list[Any] = [action.content] if isinstance(action, Finished) else []
    if isinstance(action, ToolCall):
        texts = list(action.parameters.values())
    if len(response.actions) > 1 or len(texts) != 1 or not isinstance(text := texts[0], str):
        raise InputError(f"an answer in plain text must be one call of one text; got {response.actions!r:.100}")
    if response.thought or closing in text:
        return f"<{think_tag}>{escape(response.thought, think_tag)}{closing}{text}"
    return text


def parse_plain(text: str, *, space: ActionSpace | None = None, think_tag: str = "think") -> Response | ParseError:
    """Reads a response; see `tars_jax.agent.parse_response`. In a space that has another call than one of one text it
    is what `finished` says."""
    check_tag(think_tag)
    thought, opening, closing = "", f"<{think_tag}>", f"</{think_tag}>"
    said, end = text.lstrip(), text.find(closing)
    if end >= 0:  # a chat template may have written the opening tag already
        thought, said = unescape(text[:end].strip().removeprefix(opening), think_tag), text[end + len(closing) :]
    elif said.startswith(opening):
        return ParseError(ErrorKind.UNBALANCED, f"{opening} does not close", text.find(opening))
    said = said.strip()
    while over := _END.search(said):
        said = said[: over.start()].rstrip()
    found = text_call(space)
    name, parameter = found or _SAYS
    try:
        actions = actions_from_call(name, {parameter: said}, space=space if found else None)
    except ActionError as error:
        return parse_error_of(error, max(0, end))
    return Response(thought, actions)
