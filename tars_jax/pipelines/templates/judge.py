"""A judge of your own: it says what reward a finished episode earns, and whether it was solved.

python my_judge.py          tries it on two episodes that are made up
tars-jax train --config.environment=mine:Large --config.task.judge=my_judge:judge
"""

from tars_jax.environment import Task
from tars_jax.judges import CannotSay
from tars_jax.trajectory import Outcome, Step, Trajectory


def judge(trajectory: Trajectory, task: Task) -> tuple[float, bool]:
    """Reward of the whole episode, and success. It may be a coroutine, and ask a model or a person.

    A step holds what the policy saw (`text`, `screenshot` as PNG, `info`), its `thought`, and its `action` as it was
    called; `trajectory.final_text` and `trajectory.final_screenshot` are what came of the last one.
    """
    last = trajectory.steps[-1]
    if not last.text.isdigit():
        raise CannotSay(f"it was shown no digit but {last.text!r}")  # no reward of 0: the episode does not count
    right = (last.action == "answer(yes=true)") == (int(last.text) > 4)
    return float(right), right


def episode(text: str, action: str) -> Trajectory:
    """One of a single step, to try the judge."""
    step = Step(b"", "", "", action, None, reward=0.0, think_tokens=0, valid=True, info={}, text=text)
    return Trajectory("made-up", {}, windows=(), steps=(step,), outcome=Outcome.FINISHED, reward=0.0)


if __name__ == "__main__":
    asked = Task("made-up", "mine:Large", seed=0, options={}, max_steps=1)
    assert judge(episode("7", "answer(yes=true)"), asked) == (1.0, True)
    assert judge(episode("3", "answer(yes=true)"), asked) == (0.0, False)
    print("the judge says what it should")
