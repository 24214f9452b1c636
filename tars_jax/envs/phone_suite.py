"""The phone's tasks as a server of AndroidWorld's HTTP form offers them, each on a stand-in of its own.

    python -m tars_jax.envs.phone_suite --port 5000

It is no Android and holds none of AndroidWorld's tasks: it is there to try clients of that form without an emulator.
`SettingsOpenVerify` is a success as soon as it is set up, as some of AndroidWorld's own are.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import functools
import sys

from tars_jax import InputError
from tars_jax.envs.phone import StandInPhone
from tars_jax.envs.phone_state import read_stored
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.phone import Phone
from tars_jax.sandbox.phone.android_world import PreparedPhone, Suite, make_app
from tars_jax.sandbox.phone.stand_in.device.device import StandInDevice
from tars_jax.tasks.phone import catalog
from tars_jax.web.listening import ListenAddress
from tars_jax.web.running import serve

LEVEL = 1


class PhoneSuite:
    """Tasks on one stand-in at a time, new for each task that is set up; the same seed has the same contacts and notes.

    Args:
      size: (width, height) of the screen in pixels.
      seed: of the phone.
    """

    def __init__(self, size: tuple[int, int] = (360, 640), seed: int = 0) -> None:
        StandInDevice.check_size(*size, 160)
        self._size, self._seed = size, seed
        self._first: catalog.PhoneState | None = None
        self.held: StandInPhone | None = None

    async def start(self) -> PreparedPhone:
        """Raises InputError without adb, SandboxFailure."""
        environment = PreparedPhone(await self._new())
        self._first = (await read_stored(environment.phone)).state
        return environment

    async def renew(self, environment: PreparedPhone) -> None:
        environment.phone = await self._new()

    def close(self) -> None:
        """Closes the suite; a second call does nothing."""
        held, self.held = self.held, None
        if held is not None:
            held.close()

    def tasks(self, combinations: int, seed: int) -> Suite:
        """Makes `combinations` instances of each of `tars_jax.tasks.phone.catalog.TASKS`, in AndroidWorld's spelling of
        names."""
        assert self._first is not None  # `start` was called
        suite: dict[str, list[SceneTask]] = {}
        for name in sorted(catalog.TASKS):
            scenes = [
                catalog.draw_scene(name, LEVEL, seed * 1000 + index, self._first)[1] for index in range(combinations)
            ]
            suite[_titled(name)] = [SceneTask(self, scene, name) for scene in scenes]
        nothing = catalog.PhoneScene("See that the phone has a screen.", self._first, ())
        suite["SettingsOpenVerify"] = [SceneTask(self, nothing, "nothing") for _ in range(combinations)]
        return dict(sorted(suite.items()))

    async def _new(self) -> Phone:
        await asyncio.to_thread(self.close)
        self.held = await StandInPhone.start(StandInDevice(*self._size, 160, seed=self._seed))
        return self.held.phone


@dataclasses.dataclass(frozen=True)
class SceneTask:
    """An instance of a task; its answer is what `answer` said last."""

    suite: PhoneSuite
    scene: catalog.PhoneScene
    template: str

    @property
    def goal(self) -> str:
        return self.scene.instruction

    async def initialize_task(self, environment: PreparedPhone) -> None:
        await self.suite.renew(environment)

    async def tear_down(self, environment: PreparedPhone) -> None:
        await environment.phone.press_home()

    async def is_successful(self, environment: PreparedPhone) -> float:
        answer = environment.answer or None if self.scene.wanted.answer is not None else None
        state = (await read_stored(environment.phone, answer=answer)).state
        notes = tuple((title, text.removesuffix("\n")) for title, text in state.notes)  # `input_text` ends with Enter
        return float(not self.scene.verify(dataclasses.replace(state, notes=notes)))


def _titled(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def main() -> int:
    """Serves until Ctrl-C or SIGTERM; 2 for what cannot be served."""
    parser = argparse.ArgumentParser(prog="python -m tars_jax.envs.phone_suite", description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=5000, help="0: any that is free")
    parser.add_argument("--seed", type=int, default=0, help="of the phone's contacts and notes")
    parser.add_argument("--size", default="360x640", help="pixels, WIDTHxHEIGHT")
    given = parser.parse_args()
    suite: PhoneSuite | None = None
    try:
        width, _, height = given.size.partition("x")
        if not (width.isdigit() and height.isdigit()):
            raise InputError(f"--size must be WIDTHxHEIGHT; got {given.size!r}")
        suite = PhoneSuite((int(width), int(height)), given.seed)
        environment = asyncio.run(suite.start())
        app = make_app(environment.phone, {"android_world": suite.tasks})
        say = functools.partial(print, flush=True)
        serve(
            app,
            ListenAddress(port=given.port),
            lambda address: say(f"tasks of a stand-in phone: {address}"),
            say,
            plain=True,
        )
    except (InputError, SandboxFailure) as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        if suite is not None:
            suite.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
