"""An OpenAI-compatible server that refines thoughts, and says tasks in other words, in a process of its own; how is its
name.

careful     leaves fillers out; says please
inventing   adds a reason; a number
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
        if found := re.search(r"<(question)>\n(.*?)\n</\1>", prompt, re.DOTALL):
            return f"Please {found[2][0].lower()}{found[2][1:]}" + (" Do it 3 times." if mode == "inventing" else "")
        text = re.sub(r"\buh\s*", "", between("claim", prompt)).strip().capitalize() + "."
        return text + (" Anna asked for it." if mode == "inventing" else "")


if __name__ == "__main__":
    serve(RefiningHandler)
