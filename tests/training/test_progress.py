"""Progress lines say how far work is and how long it takes, at every pace."""

from __future__ import annotations

import io
import math
import threading
import time

from tars_jax.training.progress import HEARTBEAT, Moment, Progress, counting, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_progress_lines() -> None:
    clock, stream = Clock(), Terminal()
    progress = Progress("ppo", 20, "iterations", stream=stream, clock=clock)
    for done in range(1, 21):
        clock.now += 4
        progress.update(done, reward=done / 30, version=done, think_tokens=12000.0)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 20
    # 19 steps are left at 4 seconds each: 76 seconds.
    assert lines[0] == (
        "ppo           1/20 iterations    0.25/s     1:16 left  reward 0.0333  version 1       think tokens 12,000"
    )
    assert lines[-1] == (
        "ppo          20/20 iterations    0.25/s     took 1:20  reward 0.667   version 20      think tokens 12,000"
    )


def test_progress_of_a_resumed_run_counts_its_own_steps() -> None:
    clock, stream = Clock(), Terminal()
    progress = Progress("value", 100, "updates", done=90, stream=stream, clock=clock)
    clock.now += 2
    progress.update(91)
    assert "0.5/s" in stream.getvalue()
    assert "0:18 left" in stream.getvalue()


def test_progress_is_rare_in_a_file() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress("sft", 100, "updates", stream=stream, clock=clock, min_seconds=5)
    for done in range(1, 101):
        clock.now += 1
        progress.update(done)
    lines = stream.getvalue().splitlines()
    assert [int(line.split()[1].split("/")[0]) for line in lines] == [*range(1, 100, 5), 100]


def test_progress_without_elapsed_time() -> None:
    stream = Terminal()
    Progress("sft", 3, "updates", stream=stream, clock=Clock()).update(1, loss=math.nan)
    assert stream.getvalue() == "sft          1/3 updates       -/s        ? left  loss -\n"


def test_the_first_step_compiles_and_says_nothing_of_the_others() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress("before", 200, "episodes", compiles=True, stream=stream, clock=clock, min_seconds=0)
    assert stream.getvalue() == "before         0/200 episodes  compiling\n"
    clock.now += 33
    progress.update(1)
    clock.now += 2
    progress.update(9)
    first, second = stream.getvalue().splitlines()[1:]
    assert "? left" in first and "0:48 left" in second and "4/s" in second
    resumed = Progress("before", 5, "episodes", done=5, compiles=True, stream=stream, clock=clock)
    resumed.update(5)
    assert stream.getvalue().count("compiling") == 1


def lines_of(stream: io.StringIO) -> list[str]:
    return [" ".join(line.split()) for line in stream.getvalue().splitlines()]


def test_quick_work_says_nothing_and_long_work_after_a_while() -> None:
    clock, stream = Clock(), Terminal()
    progress = Progress("export", 10, "episodes", quiet=3, stream=stream, clock=clock)
    for step in progress.each(range(10)):
        clock.now += 0.2
        assert step >= 0
    assert stream.getvalue() == ""
    progress = Progress("export", 10, "episodes", quiet=3, stream=stream, clock=clock)
    for _ in progress.each(range(10)):
        clock.now += 2
    # The second step ends at 4 seconds, the first that is beyond 3; then at most one line in 5 seconds, and the last.
    assert [line.split()[1] for line in lines_of(stream)] == ["2/10", "5/10", "8/10", "10/10"]
    assert lines_of(stream)[0] == "export 2/10 episodes 0.5/s 0:16 left"


def test_steps_that_nobody_has_counted() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress("import", None, "episodes", quiet=3, stream=stream, clock=clock)
    for _ in progress.each("abcdefgh"):
        clock.now += 1
    assert lines_of(stream) == [
        "import 3 episodes 1/s 0:03 so far", "import 8 episodes 1/s 0:08 so far", "import 8/8 episodes 1/s took 0:08"
    ]  # fmt: skip


def test_a_step_that_takes_long_is_told_while_it_does() -> None:
    clock, stream = Clock(), Terminal()
    progress = Progress("gpu_bench", 5, "entries", min_seconds=0, stream=stream, clock=clock)
    for _ in range(100):
        clock.now += 0.25
        progress.waiting(measuring="update")
    assert lines_of(stream) == [
        f"gpu_bench 0/5 entries 0:{seconds:.0f} so far measuring update" for seconds in (HEARTBEAT, 2 * HEARTBEAT)
    ]
    progress.update(1)
    assert "0.04/s" in lines_of(stream)[-1]


def test_who_watches_hears_of_every_step() -> None:
    clock, heard = Clock(), list[Moment]()
    progress = Progress("ppo", 3, "updates", compiles=True, watch=heard.append, stream=io.StringIO(), clock=clock)
    for done in (1, 2, 3):
        clock.now += 4
        progress.update(done)
    assert (heard[0].done, heard[0].compiling) == (0, True)
    assert [(each.done, each.remaining) for each in heard[2:]] == [(2, 4.0), (3, 0.0)]
    assert math.isnan(heard[0].remaining) and math.isnan(heard[1].remaining)


def test_work_that_counts_itself() -> None:
    stream = Terminal()
    say = counting("merge", "tensors", stream=stream, clock=Clock())
    say(1, 2)
    say(2, 2)
    assert [line.split()[:2] for line in lines_of(stream)] == [["merge", "1/2"], ["merge", "2/2"]]


def test_an_opaque_step_says_how_long_it_has_taken() -> None:
    said = Said()
    with working("compile", every=0.01, stream=said):
        said.await_line()
    assert said.getvalue().startswith("compile      0:00 so far\n")
    written = said.getvalue()
    time.sleep(0.05)
    assert said.getvalue() == written  # its thread is gone


class Said(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self._line = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "\n" in self.getvalue():
            self._line.set()
        return written

    def await_line(self) -> None:
        assert self._line.wait(60)
