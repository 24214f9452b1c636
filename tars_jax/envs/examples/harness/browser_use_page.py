"""What color has the page? One or two looks at it in a browser of its own, by an agent of `browser-use`.

    TASK='{"seed": 7}' REWARD_FILE=reward CHROMIUM=/usr/bin/chromium \
        .cache/harnesses/browser-use/bin/python browser_use_page.py

The framework's own loop opens the browser, takes a screenshot for each answer and runs the actions that the policy
writes as JSON. Its system message, which takes 15,000 tokens of the nano policy's, is replaced, as its own setting
allows. It writes its state anew for each answer, so that each is asked in a context of its own.
"""

import asyncio
import http.server
import json
import os
import random
import tempfile
import threading
from pathlib import Path

os.environ |= {"ANONYMIZED_TELEMETRY": "false", "BROWSER_USE_VERSION_CHECK": "false"}
os.environ["BROWSER_USE_LOGGING_LEVEL"] = "result"
os.environ.setdefault("BROWSER_USE_CONFIG_DIR", tempfile.mkdtemp())  # its home may be nobody's

from browser_use import Agent, BrowserProfile, BrowserSession
from browser_use.llm.openai.chat import ChatOpenAI

LOOKS, SIZE = 2, 320
COLORS = ("red", "green", "blue")


async def play(color: str, address: str) -> bool:
    """Whether it said the color and no other."""
    profile = BrowserProfile(
        executable_path=os.environ.get("CHROMIUM"),
        headless=True,
        chromium_sandbox=False,
        enable_default_extensions=False,
        viewport={"width": SIZE, "height": SIZE},
        wait_for_network_idle_page_load_time=0.1,
        minimum_wait_page_load_time=0.1,
    )
    agent = Agent(
        task="The color?",
        llm=ChatOpenAI(
            model=os.environ.get("OPENAI_MODEL", "nano"),
            base_url=os.environ["OPENAI_BASE_URL"],
            api_key=os.environ["OPENAI_API_KEY"],
            max_completion_tokens=24,
            dont_force_structured_output=True,  # what is drawn under a schema is not learned from
        ),
        browser_session=BrowserSession(browser_profile=profile),
        initial_actions=[{"navigate": {"url": address}}],
        override_system_message='Say {"action": [{"done": {"text": "red", "success": true}}]}.',
        max_failures=LOOKS,
        use_judge=False,
    )
    history = await agent.run(max_steps=LOOKS)
    said = history.final_result() or ""
    return color in said and sum(each in said for each in COLORS) == 1


def main() -> None:
    """Plays one episode."""
    color = random.Random(json.loads(os.environ["TASK"])["seed"]).choice(COLORS)

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"<body style='background: {color}'><h1>Color</h1>".encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:  # it takes screenshots of websites alone
        threading.Thread(target=server.serve_forever, daemon=True).start()
        right = asyncio.run(play(color, f"http://127.0.0.1:{server.server_port}/"))
        server.shutdown()
    Path(os.environ["REWARD_FILE"]).write_text(json.dumps({"reward": float(right), "success": right}))


if __name__ == "__main__":
    main()
