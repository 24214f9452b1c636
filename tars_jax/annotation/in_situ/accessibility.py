"""Accessibility by AT-SPI: whether a field for a password has the focus, and the focused window's tree.

Asked by a process of its own (`atspi.py`), since the library's calls wait for whatever program they ask.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

from tars_jax.annotation.in_situ.windows import VisibleWindow

CHILD = Path(__file__).with_name("atspi.py")


class Accessible:
    def __init__(self) -> None:
        self.is_secret = False
        self._trees: dict[int, bytes] = {}  # the last one, by its process, until somebody asks for it
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._thread = threading.Thread(target=self._listen, name="accessibility", daemon=True)
        self._thread.start()

    @property
    def is_there(self) -> bool:
        """False once it has ended, as where there is no AT-SPI."""
        return self._process.poll() is None

    def tree(self, window: VisibleWindow | None) -> bytes | None:
        """A tree that has come since the last call and is the window's program's; JSON."""
        return self._trees.pop(window.process, None) if window is not None and window.process else None

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._thread.join(5)
        self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                said = json.loads(line)
                if "secret" in said:
                    self.is_secret = said["secret"]
                else:
                    self._trees = {said["process"]: json.dumps(said["tree"], ensure_ascii=False).encode()}
        self.is_secret = False
