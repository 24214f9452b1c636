"""An issue of a repository as an episode: what the agent leaves in the working tree is its patch.

evaluate --config.suite=swe_bench --config.tasks=my-issues --config.checkpoint=reference
"""

from __future__ import annotations

import base64
import random
import shlex
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import Action, CallUser, Finished, ToolCall
from tars_jax.environment import SDK, ActionSpace, EnvironmentFailure, Observation, Task
from tars_jax.envs.benchmarks.episode import BenchmarkVerdict
from tars_jax.envs.benchmarks.swe_bench import grading
from tars_jax.envs.benchmarks.swe_bench.prepared import Prepared, Preparing, container_spec, preparing
from tars_jax.envs.benchmarks.swe_bench.testing import END, ERRORED, START, TESTBED, PatchResult, try_patch
from tars_jax.envs.benchmarks.terminal_environment import TerminalEnvironment
from tars_jax.envs.benchmarks.terminal_screen import TerminalScreen, action_space
from tars_jax.envs.spec import EnvironmentResources
from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.shell import Shell
from tars_jax.sandbox.tools.forms import FUNCTIONS, Toolbox
from tars_jax.tasks.benchmarks.benchmark import BenchmarkTask, BenchmarkTasks
from tars_jax.tasks.games.moves import Move

TOOLS = ("execute_bash", "str_replace_editor")
TEST_S, MEMORY_MB = 1800.0, 4096
_PIECE, _TYPED = 24_000, 1500  # characters of one command, called or typed
ENVIRONMENT_TIER = "environment"  # swebench's word for logs of a machine that failed


class SweBenchEnvironment(TerminalEnvironment):
    """The agent works in /testbed, where the repository stands at the issue's commit and knows nothing later.

    Its patch is tried in a fresh computer, with the tests of the instance in place of its own, and graded by the
    official package: resolved is 1, all else 0.

    Args:
      tools: the functions that it has, by their names in `sandbox/tools/forms.py`.
      interface: sdk: functions; gui: a desktop on which a terminal is open, with mouse and keyboard; both.
      size: (width, height) of the desktop's screen, in pixels.
      test_timeout: seconds of an instance's tests.
      memory_mb: of each of the two computers.
    """

    time_limit = 2 * TEST_S

    def __init__(
        self, tasks: BenchmarkTasks, *, tools: Sequence[str] = TOOLS, interface: str = SDK,
        size: Sequence[int] = (1280, 720), test_timeout: float = TEST_S, memory_mb: int = MEMORY_MB,
        time_limit: float = 0.0, resources: EnvironmentResources | None = None,
    ) -> None:  # fmt: skip
        super().__init__(tasks, "SWE-bench", tools, interface, size, time_limit=time_limit, resources=resources)
        if isinstance(test_timeout, bool) or not isinstance(test_timeout, int | float) or test_timeout <= 0:
            raise InputError(f"test_timeout must be seconds above 0; got {test_timeout!r}")
        self._room = container_spec(memory_mb)
        grading.python()
        self._test_s = float(test_timeout)
        self._preparing: Preparing | None = None
        self._prepared: Prepared | None = None
        self._computer: Computer | None = None
        self._turn = 0

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        """Applies the instance's own patch."""
        packed = base64.b64encode(zlib.compress(state["patch"].encode())).decode()
        size = _TYPED if state["screen"] else _PIECE
        pieces = [packed[at : at + size] for at in range(0, len(packed), size)]

        def by(thought: str, command: str) -> Move:
            if state["screen"]:
                return Move(thought, "type", {"content": f"{command}\n"})
            return Move(thought, "execute_bash", {"command": command})

        turn = state["turn"]
        if turn > len(pieces) or rng.random() >= skill:
            return Move("That is all.", "finished", {"content": ""})
        if turn == len(pieces):
            read = "import sys, zlib; sys.stdout.buffer.write(zlib.decompress(sys.stdin.buffer.read()))"
            apply = f"base64 -d /tmp/.gold | python3 -c {shlex.quote(read)} | git apply -v -"
            return by("It is applied.", apply)
        put = f"printf %s {pieces[turn]} {'>>' if turn else '>'} /tmp/.gold"
        return by("The known patch comes to the computer.", put)

    @property
    def action_space(self) -> ActionSpace:
        return action_space(self._interface, [FUNCTIONS[name] for name in self._tools])

    async def begin(self, entry: BenchmarkTask, task: Task) -> Observation:
        assert entry.folder is not None
        self._preparing = await preparing(self.acquired())
        try:
            self._prepared = await self._preparing.made(entry.folder, entry.record, self._room)
            self._computer = await self._preparing.open(self._prepared, self._room)
        except SandboxFailure:
            await self.discard()
            raise
        machine = self._computer.machine
        self._toolbox = Toolbox(machine, self._tools, shell=lambda machine: Shell(machine, folder=TESTBED))
        if self._interface != SDK:
            self._screen = await TerminalScreen.open(machine, self._screen_size, TESTBED)
        self._turn = 0
        return await self._observed(f"Commands run in {TESTBED}.")

    async def act(self, actions: Sequence[Action]) -> tuple[Observation, bool]:
        assert self._toolbox is not None
        said, ended = [], False
        for action in actions:
            if isinstance(action, Finished | CallUser):
                ended = True
                break
            if isinstance(action, ToolCall):
                said.append((await self._toolbox.call(action.name, action.parameters)).text)
            elif self._screen is not None:
                said.append(await self._screen.act(action))
        self._turn += 1
        nothing = "" if self._screen is not None else "finished" if ended else "[no output]"
        return await self._observed("\n".join(each for each in said if each) or nothing), ended

    async def _observed(self, text: str) -> Observation:
        patch = str(self.entry.record.get("patch") or "")
        info = {"state": {"patch": patch, "turn": self._turn, "screen": self._screen is not None}}
        return Observation(text=text, info=info) if self._screen is None else await self._screen.observed(text, info)

    async def verify(self) -> BenchmarkVerdict:
        assert self._computer is not None and self._prepared is not None and self._preparing is not None
        record = self.entry.record
        try:
            patch, why = await self._preparing.patch_of(self._computer, self._prepared, record["base_commit"])
            if not patch.strip():
                return BenchmarkVerdict(0.0, False, _details("", None, {}, why))
            outcome = await self._tried(patch)
            answer = await grading.grade(record, patch, outcome.log)
            if outcome.applied and not outcome.timed_out and not _tells(answer):
                unchanged = await self._tried("")
                if not _tells(told := await grading.grade(record, patch, unchanged.log)):
                    details = _details(patch, unchanged, told, why)
                    raise EnvironmentFailure("verifier", _why_nothing(unchanged.log), details)
        except (InputError, SandboxFailure) as error:
            raise EnvironmentFailure("verifier", str(error)) from error
        reason, tier = answer["classified"] or ("", "")
        details = _details(patch, outcome, answer, why)
        if not answer["report"]["resolved"] and tier == ENVIRONMENT_TIER:
            said = f"swebench tells from the log that the machine failed: {reason}"
            raise EnvironmentFailure("verifier", said, details)
        resolved = bool(answer["report"]["resolved"])
        return BenchmarkVerdict(float(resolved), resolved, details)

    async def _tried(self, patch: str) -> PatchResult:
        assert self._prepared is not None and self._preparing is not None
        fresh = await self._preparing.open(self._prepared, self._room)
        try:
            return await try_patch(fresh, self.entry.record, patch, self._test_s)
        finally:
            await fresh.close()

    async def end(self) -> None:
        computer, self._computer = self._computer, None
        toolbox, self._toolbox = self._toolbox, None
        screen, self._screen = self._screen, None
        if computer is not None:
            try:
                if toolbox is not None:
                    await toolbox.__aexit__()
                if screen is not None:
                    await screen.close()
            finally:
                await computer.close()


def _why_nothing(log: str) -> str:
    """Reason why a log has no outcomes: the patch of the tests, or the end of their command's output."""
    if ERRORED in log:
        return "the patch of its tests does not apply to the unchanged repository"
    said = log.rpartition(START)[2].partition(END)[0].strip().strip("'+: \n")
    return f"its tests do not run on the unchanged repository: {' '.join(said.split())[-500:] or 'they say nothing'}"


def _tells(answer: Mapping[str, Any]) -> bool:
    """Whether swebench finds in the log what the tests have come to."""
    return bool(answer["report"]["patch_successfully_applied"])


def _details(patch: str, outcome: PatchResult | None, answer: Mapping[str, Any], note: str) -> dict[str, Any]:
    """The log is compressed, in base64. `note`: what the patch leaves out, or why it is empty."""
    log = "" if outcome is None else outcome.log
    return {
        "patch": patch, "note": note, "applied": outcome is not None and outcome.applied,
        "timed_out": outcome is not None and outcome.timed_out, "report": answer.get("report"),
        "classified": answer.get("classified"), "log": base64.b64encode(zlib.compress(log.encode())).decode(),
    }  # fmt: skip
