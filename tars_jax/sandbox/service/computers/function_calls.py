"""The functions that agents call, by their names and schemas, in a session: those of ../../tools/forms.py."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.part import SessionPart, Work
from tars_jax.sandbox.tools.forms import FUNCTIONS, NEEDS_PAGES, Toolbox, ToolResult
from tars_jax.web.protocol import RequestFields

NAMES = tuple(name for name in FUNCTIONS if name not in NEEDS_PAGES)
SEEN = 4000  # characters of what lists show
LOST = "the shells and kernels of the session's functions were lost when the service was started again or it was copied"


class FunctionCalls(SessionPart):
    """Shells and kernels begin when called, and end with this process."""

    def __init__(self, machine: GuestMachine, snapshot: Mapping[str, Any] | None = None) -> None:
        """`snapshot`: of the part that this one follows. Raises KeyError, TypeError for what is none."""
        self._toolbox = Toolbox(machine, NAMES)
        self._lost = snapshot is not None and bool(snapshot["used"])
        self._used = False
        self._seen = ""
        self.calls = {"call_function": self._call}

    def own(self) -> set[int]:
        return self._toolbox.own()

    def words(self) -> str:
        return self._seen

    def snapshot(self) -> Any:
        return {"used": self._used or self._lost}

    async def detach(self) -> None:
        await self._toolbox.detach()

    async def close(self) -> None:
        await self._toolbox.__aexit__()

    def _call(self, fields: RequestFields) -> Work:
        """{function, arguments?} -> {text, images, failed}: `images` are PNG in base64"""
        name, arguments = fields.text("function"), fields.value("arguments")
        if name not in NAMES:
            raise fields.error("function", f"one of {', '.join(NAMES)}")
        if arguments is not None and not isinstance(arguments, dict):
            raise fields.error("arguments", "an object")

        async def work() -> Any:
            if self._lost:
                raise SandboxFailure("restored", LOST)
            if not self._used:
                self._used = True
                self.kept()
            answer = await self._toolbox.call(name, arguments or {})
            self._seen = f"{self._seen}{name}\n{answer.text.rstrip()}\n"[-SEEN:]
            return answer_to_json(answer)

        return work


def answer_to_json(answer: ToolResult) -> dict[str, Any]:
    images = [base64.b64encode(image).decode() for image in answer.images]
    return {"text": answer.text, "images": images, "failed": answer.failed}
