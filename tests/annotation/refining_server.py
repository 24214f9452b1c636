"""An OpenAI-compatible server that refines thoughts, in a process of its own; how is its name.

careful     leaves fillers out
inventing   adds a reason
declining   refuses with HTTP 400, as content filters do
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.judges.answering_server import Handler, between, serve


class RefiningHandler(Handler):
    def said(self, mode: str, prompt: str) -> str:
        text = re.sub(r"\buh\s*", "", between("said", prompt)).strip().capitalize() + "."
        return text + (" Anna asked for it." if mode == "inventing" else "")


if __name__ == "__main__":
    serve(RefiningHandler)
