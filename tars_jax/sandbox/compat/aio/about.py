"""/v1/sandbox: what the computer is and which packages it has."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import answer, answering
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.web.responses import JsonResponse

FACTS = """
import getpass, json, os, platform, sys, time
print(json.dumps({"os": platform.system(), "os_version": platform.release(), "arch": platform.machine(),
    "user": os.environ.get("USER", ""), "home_dir": os.path.expanduser("~"), "timezone": time.tzname[0],
    "python": platform.python_version(), "bin": sys.executable}))
"""
PACKAGES = """
import importlib.metadata, json
print(json.dumps(sorted({(str(d.metadata["Name"]), d.version) for d in importlib.metadata.distributions()})))
"""


NODE = ["sh", "-c", "command -v node && node --version"]


class About:
    def __init__(self, machine: GuestMachine) -> None:
        self._machine = machine

    def routes(self) -> list[Route]:
        return [
            Route("/v1/sandbox", answering(self.context), methods=["GET"]),
            Route("/v1/sandbox/packages/python", answering(self.packages), methods=["GET"]),
        ]

    async def context(self, request: Request) -> Response:
        facts = await self._asked(FACTS) or {}
        home = self._machine.home
        system = {name: facts.get(name, "") for name in ("os", "os_version", "arch", "user", "timezone")}
        system |= {"home_dir": home, "workspace": home, "occupied_ports": []}
        python = {"ver": facts.get("python"), "bin": facts.get("bin"), "alias": ["python3"]}
        runtime = {"python": [python] if facts else [], "nodejs": await self._node()}
        detail = {"system": system, "runtime": runtime, "utils": []}
        said = {"success": True, "message": "Operation successful", "data": None}
        return JsonResponse({**said, "home_dir": home, "workspace": home, "version": "1.0.0", "detail": detail})

    async def packages(self, request: Request) -> Response:
        found = await self._asked(PACKAGES) or []
        return answer([{"name": name, "version": version} for name, version in found])

    async def _node(self) -> list[dict[str, Any]]:
        """The computer's node, as AIO tells of a program; none where it has none."""
        ran = await self._machine.run(NODE, timeout_s=30)
        words = ran.stdout.decode(errors="replace").split("\n")
        return [] if ran.status else [{"ver": words[1].removeprefix("v"), "bin": words[0], "alias": ["node"]}]

    async def _asked(self, program: str) -> Any:
        ran = await self._machine.run(["python3", "-c", program], timeout_s=30)
        try:
            return json.loads(ran.stdout)
        except ValueError:
            return None
