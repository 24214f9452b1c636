"""A number in a picture's color, by a code agent of `smolagents`, which writes Python and rewrites its history.

    TASK='{"seed": 7}' REWARD_FILE=reward .cache/harnesses/smolagents/bin/python smolagents_pictures.py

Each step shows a new picture, and those of the steps before are taken out of the history, as in the framework's own
example of a browser. It joins messages of one role, adds what it has called to what the policy wrote, and asks for a
plan now and then, so that nearly each request is a new context.
"""

import json
import os
import random
from pathlib import Path

from PIL import Image
from smolagents import ActionStep, AgentError, CodeAgent, LogLevel, OpenAIModel, tool

STEPS, SIZE = 3, 96
COLORS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200)}
PLAN = {
    "initial_plan": "Plan for: {{task}}",
    "update_plan_pre_messages": "So far, of {{task}}:",
    "update_plan_post_messages": "Plan again; {{remaining_steps}} left.",
}
PROMPTS = {
    "system_prompt": "Write {{code_block_opening_tag}}final_answer('red'){{code_block_closing_tag}} for a red picture.",
    "planning": PLAN,
    "managed_agent": {"task": "", "report": ""},
    "final_answer": {"pre_messages": "Which color?", "post_messages": "{{task}}"},
}


@tool
def zoom(factor: int) -> str:
    """Enlarges the picture.

    Args:
        factor: how much.
    """
    return f"{factor} times as large"


def picture(color: str, rng: random.Random) -> Image.Image:
    """SIZE pixels on a side, of one color and some noise."""
    noise = Image.frombytes("RGB", (SIZE, SIZE), rng.randbytes(3 * SIZE * SIZE))
    return Image.blend(Image.new("RGB", (SIZE, SIZE), COLORS[color]), noise, 0.2)


def main() -> None:
    """Plays one episode."""
    rng = random.Random(json.loads(os.environ["TASK"])["seed"])
    color = rng.choice([*COLORS])

    def show(step: ActionStep, agent: CodeAgent) -> None:
        for earlier in agent.memory.steps:
            if isinstance(earlier, ActionStep):
                earlier.observations_images = None
        step.observations_images = [picture(color, rng)]

    agent = CodeAgent(
        tools=[zoom],
        model=OpenAIModel(
            os.environ.get("OPENAI_MODEL", "nano"),
            api_base=os.environ["OPENAI_BASE_URL"],
            api_key=os.environ["OPENAI_API_KEY"],
            max_tokens=16,
        ),
        prompt_templates=PROMPTS,
        planning_interval=2,
        step_callbacks={ActionStep: show},
        max_steps=STEPS,
        verbosity_level=LogLevel.OFF,
    )
    try:
        answer = str(agent.run("Which color?", images=[picture(color, rng)]))
    except AgentError as error:  # its history has become longer than the policy reads
        answer = f"none: {error}"
    reward = float(color in answer and sum(each in answer for each in COLORS) == 1)
    Path(os.environ["REWARD_FILE"]).write_text(json.dumps({"reward": reward, "success": reward == 1.0}))


if __name__ == "__main__":
    main()
