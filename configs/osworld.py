"""One desktop by OSWorld's guest protocol, which its own PythonController and SetupController drive.

Commands:
  ./launch/pyautogui.sh                # PyAutoGUI and a `python` for computers, once
  ./launch/local.sh osworld

Ready in seconds, when it prints how the controllers are told the address and the token. Ctrl-C or SIGTERM ends the
server and the computer. It takes a desktop (`sudo ./launch/desktop.sh --browser`).

OSWorld's setup steps that fetch files from the internet, or drive Chrome by its debugging port, are not there: a
computer reaches no network.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import ISOLATION, ListenerFields
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import between, field
from tars_jax.sandbox.browser.site import MAX_SIDE


@dataclasses.dataclass(frozen=True)
class Osworld(ListenerFields, RunFields):
    """The desktop that is served."""

    width: int = field(1920, "width of the screen, in pixels", between(320, MAX_SIDE))
    height: int = field(1080, "height of the screen, in pixels", between(200, MAX_SIDE))
    browser: bool = field(True, "whether Chromium is among the applications")
    isolation: str = field(
        "auto", "isolation of the desktop: auto, or the name of a mechanism in sandbox/computer/isolation.py", ISOLATION
    )


def get_config() -> ConfigDict:
    return section(Osworld, port=5000)
