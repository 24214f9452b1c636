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

from tars_jax.pipelines.command_fields import IsolationFields
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import between, field, field_of
from tars_jax.sandbox.desktop.config import DesktopConfig
from tars_jax.web.listening import ListenAddress


@dataclasses.dataclass(frozen=True)
class Osworld(ListenAddress, IsolationFields, RunFields):
    """The desktop that is served."""

    width: int = field_of(DesktopConfig, "width", default=1920, rule=between(320, 8192))
    height: int = field_of(DesktopConfig, "height", default=1080, rule=between(200, 8192))
    browser: bool = field(True, "whether Chromium is among the applications")


def get_config() -> ConfigDict:
    return section(Osworld, port=5000)
