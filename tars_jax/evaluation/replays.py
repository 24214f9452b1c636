"""Episodes as strips of what was seen and read, with the thought, the action and a mark where it pointed."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Mapping, Sequence

from PIL import Image

from tars_jax import InputError
from tars_jax.data.recorded import instruction_of
from tars_jax.pictures import as_seen
from tars_jax.trajectory import Outcome, Step, Trajectory

MAX_STEPS = 24  # of one strip; of a longer episode the middle is left out
BUDGET = 3_500_000  # characters of all strips, embedded screenshots included
_LAST_STEPS = 6  # shown of a longer episode's end
_TITLE_CHARACTERS = 300
_LARGE_WIDTH = 320  # wider screenshots are shrunk to this, smaller ones scaled up pixel by pixel
_LARGE_HEIGHT = 4 * _LARGE_WIDTH  # of what is shrunk
_LARGE_BYTES = 100_000  # of a small screenshot; a larger file is shrunk, too


def replays_html(
    before: Sequence[Trajectory],
    after: Sequence[Trajectory],
    count: int,
    labels: tuple[str, str] = ("Before", "After"),
) -> str:
    """The first `count` episodes of each side; where both played the same task, they stand under each other."""
    strips: dict[str, list[tuple[str, str, Trajectory]]] = {}
    for side, label, trajectories in (("before", labels[0], before), ("after", labels[1], after)):
        for trajectory in trajectories[:count]:
            task = json.dumps(trajectory.task, sort_keys=True, default=str)
            strips.setdefault(task, []).append((side, label, trajectory))
    parts: list[str] = []
    size = 0
    for index, group in enumerate(strips.values()):
        rows = "".join(_strip_html(side, label, trajectory) for side, label, trajectory in group)
        size += len(rows)
        if size > BUDGET and parts:
            break
        first = group[0][2]
        asked = text_html(_instruction(first), "asked")
        parts.append(f'<div class="level"><h3>{_task_title(first, index)}</h3>{asked}{rows}</div>')
    return "".join(parts)


def _task_title(trajectory: Trajectory, index: int) -> str:
    task = trajectory.task
    game = str(task.get("environment", ""))
    if game.count("/") > 1:  # the folder of a synthesized game; benchmarks are COLLECTION/MEMBER
        game = game.rstrip("/").rpartition("/")[2]
    words = [game if ":" in game else game.replace("_", " ")] if game else []  # a name of Python's stays as it is
    options = task.get("options")
    options = options if isinstance(options, Mapping) else {}
    for key, value in {"seed": task.get("seed"), **options, "at most": task.get("max_steps")}.items():
        key = str(key).replace("_", " ")
        if isinstance(value, list | tuple) and value:
            if any(isinstance(each, list | Mapping) for each in value):  # such as a question with its answers
                continue
            words.append(f"{key} {_listed(list(dict.fromkeys(value)))}")
        elif isinstance(value, str | int | float):
            words.append(f"{key} {value}" + (f" step{'' if value == 1 else 's'}" if key == "at most" else ""))
    shown = ", ".join(words)
    if len(shown) > _TITLE_CHARACTERS:
        shown = shown[:_TITLE_CHARACTERS] + "…"
    return f'Episode {index + 1} <span class="detail">{html.escape(shown)}</span>'


def _listed(values: Sequence[object]) -> str:
    """Two numbers are the ends of a range."""
    is_range = len(values) == 2 and all(isinstance(each, int | float) for each in values)
    return (" to " if is_range else ", ").join(map(str, values))


def _instruction(trajectory: Trajectory) -> str:
    try:
        return instruction_of(trajectory)
    except (InputError, OSError):  # of an environment that is not known here, or whose name is no file's
        return ""


def _strip_html(side: str, label: str, trajectory: Trajectory) -> str:
    steps = list(enumerate(trajectory.steps, start=1))
    left_out = max(len(steps) - MAX_STEPS, 0)
    head = MAX_STEPS - _LAST_STEPS if left_out else len(steps)
    cards = [_step_html(number, step) for number, step in steps[:head]]
    if left_out:
        cards.append(f'<li class="gap">{left_out} more step{"" if left_out == 1 else "s"}</li>')
        cards += [_step_html(number, step) for number, step in steps[-_LAST_STEPS:]]
    if trajectory.final_screenshot or trajectory.final_text:
        seen = _seen_html(trajectory.final_screenshot, trajectory.final_text, "Screenshot of the end")
        cards.append(f'<li class="end">{seen}<p class="step"><span>the end</span></p></li>')
    kind, text = outcome_badge(trajectory)
    reads = " reading" if any(step.text for step in trajectory.steps) else ""
    return (
        f'<div class="strip {side}{reads}"><p class="side"><span class="name">{label}</span>'
        f'<span class="badge {kind}">{text}</span></p><ol>{"".join(cards)}</ol></div>'
    )


def outcome_badge(trajectory: Trajectory) -> tuple[str, str]:
    """(kind, words) for how an episode ended; kind is "good", "bad" or "void"."""
    steps = len(trajectory.steps)
    counted = f"{steps} step{'' if steps == 1 else 's'}"
    if trajectory.cannot_say:
        return "void", f"could not be judged after {counted}, not counted"
    if trajectory.outcome is Outcome.FAILED:
        return "void", f"sandbox failed after {counted}, not counted"
    if trajectory.succeeded:
        partial = "" if trajectory.reward == 1 else f", reward {trajectory.reward:.3g}"
        return "good", f"solved in {counted}{partial}"
    words = {
        Outcome.FINISHED: f"ended unsolved after {counted}",
        Outcome.TRUNCATED: f"out of budget after {counted}",
        Outcome.REJECTED: f"unreadable answers, stopped after {counted}",
    }
    return "bad", words[trajectory.outcome]


def _step_html(number: int, step: Step) -> str:
    marked = f", pointing at {_round(step.point[0])} {_round(step.point[1])}" if step.point else ""
    seen = _seen_html(step.screenshot, step.text, f"Screenshot of step {number}{marked}", step.point)
    reward = f'<span class="reward">+{step.reward:.3g}</span>' if step.reward > 0 else ""
    if step.reward < 0:
        reward = f'<span class="reward negative">−{-step.reward:.3g}</span>'
    if step.valid and not step.action:  # an answer in words, of which nobody read a call
        words = text_html(step.response, "response")
    elif step.valid:
        words = text_html(step.thought, "thought") + call_html(short_action(step.action))
    else:
        words = f'<p class="unreadable">not readable:</p>{text_html(step.response, "response")}'
    return f'<li>{seen}<p class="step"><span>{number}</span>{reward}</p>{words}</li>'


def _seen_html(screenshot: bytes, text: str, alt: str, point: tuple[float, float] | None = None) -> str:
    """An observation: its picture, marked at `point`, and its text; of each only what it has."""
    if not screenshot:
        return text_html(text, "read")
    try:
        image, pixelated = _data_uri(screenshot)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # one damaged file loses no page
        picture = '<p class="unreadable">the screenshot is damaged</p>'
    else:
        kind = "pixelated" if pixelated else "shrunk"
        mark = mark_svg(point) if point else ""
        picture = f'<div class="screen"><img class="{kind}" src="{image}" alt="{alt}">{mark}</div>'
    return picture + text_html(text, "read")


def mark_svg(point: tuple[float, float]) -> str:
    """A ring at `point` (0..1000 of width and height), over a picture of any size."""
    at = f'cx="{_round(point[0] / 10)}%" cy="{_round(point[1] / 10)}%"'
    return (
        f'<svg class="mark" aria-hidden="true"><circle {at} r="7.5" class="halo"/><circle {at} r="7.5" class="ring"/>'
        f'<circle {at} r="2" class="dot"/></svg>'
    )


def short_action(action: str) -> str:
    """An action of the text grammar without the scaffolding around its points."""
    return re.sub(r"(?:\b\w+=)?'<point>\s*([\d.]+)\s+([\d.]+)\s*</point>'", r"\1 \2", action)


def _data_uri(screenshot: bytes) -> tuple[str, bool]:
    """The picture as a data URI, and whether it is so small that it is to be scaled up in whole pixels."""
    with Image.open(io.BytesIO(screenshot)) as picture:
        if picture.width <= _LARGE_WIDTH and len(screenshot) <= _LARGE_BYTES:
            return f"data:image/png;base64,{base64.b64encode(screenshot).decode()}", True
        buffer = io.BytesIO()
        scale = min(1, _LARGE_WIDTH / picture.width, _LARGE_HEIGHT / picture.height)
        size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
        as_seen(picture).resize(size, Image.Resampling.LANCZOS).save(buffer, "WEBP", quality=80)
    return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}", False


def _round(value: float) -> str:
    return f"{value:.4g}"


FOLDED = 280  # characters that are shown of a longer text before it is opened
FOLDED_LINES = 8
MOST_CHARACTERS = 20_000  # of a text that is opened; of a longer one the middle is left out
_BREAKABLE = re.compile(r"(?<=[(\[{,;])(?=[^\s)\]}])")


def text_html(text: str, kind: str) -> str:
    """A text as an element of class `kind`, folded where it is long; nothing for an empty one. Each paragraph takes its
    direction from its own letters."""
    if not text.strip():
        return ""
    if _is_short(text):
        return f'<p class="{kind}" dir="auto">{html.escape(text)}</p>'
    beginning = html.escape(_beginning(text))
    size = f"{len(text):,} characters"
    return (
        f'<details class="{kind} folded"><summary><bdi class="beginning" dir="auto">{beginning}…</bdi> '
        f'<span class="more">{size}</span></summary><div class="whole" dir="auto">{html.escape(_bounded(text))}</div>'
        "</details>"
    )


def call_html(action: str) -> str:
    """Calls, a line each. A line that is too long breaks between a call's parts, not inside of them."""
    if not action.strip():
        return ""
    if _is_short(action):
        return f'<p class="action" dir="ltr">{_with_breaks(action)}</p>'
    return text_html(action, "action")


def _with_breaks(action: str) -> str:
    return "<wbr>".join(html.escape(part) for part in _BREAKABLE.split(action))


def _is_short(text: str) -> bool:
    return len(text) <= 1.25 * FOLDED and text.strip().count("\n") < FOLDED_LINES


def _beginning(text: str) -> str:
    lines = text.strip().splitlines()[: FOLDED_LINES - 2]
    return "\n".join(lines)[:FOLDED].rstrip()


def _bounded(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters are left out …\n{text[-half:]}"
