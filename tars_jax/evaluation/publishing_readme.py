"""The README of a published run: what it was, what came out, what ran it, and how to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tars_jax.evaluation.publishing import LOCK, PATCH, Published
from tars_jax.evaluation.redaction import ADDRESS, ELSEWHERE
from tars_jax.launcher import LAUNCHER
from tars_jax.training.recorded_updates import UPDATES_FILE

_TELLING = ("jax", "jaxlib", "numpy", "flax", "optax", "orbax-checkpoint", "playwright")
_MEANINGS = {
    "config.json": "the resolved config: every field with its value",
    "environment.json": "what ran it: code version, packages, machine",
    LOCK: "the lock file of that code version, with hashes",
    PATCH: "what the working tree changed of the commit",
    "stages.json": "results of the stages, and the seconds that they took",
    "result.json": "the result",
    "metrics.jsonl": "metrics, one JSON object a line",
    UPDATES_FILE: "the episodes that every update took, in order, and the SHA-256 of the weights after it",
    "report.html": "the run as one page, which opens offline",
    "figures": "curves",
    "checkpoints": "states of policy, value model and optimizers",
    "trajectories": "episodes, token by token, with their screenshots",
}


def readme(published: Published, archive: str, about: str) -> bytes:
    """Markdown. `archive` is the file's name, `about` what the experiment says of itself in a sentence."""
    last = published.starts[-1]
    code, name = last["code"], published.experiment
    title = f"# {name}, seed {published.config.get('seed')}"
    parts = [title, about, "## Result", _table(published.result), *_learning(published)]
    parts += ["## What is here", _contents(published.members), "## Run it again", _again(published, archive, code)]
    versions = ", ".join(f"{each} {last['packages'][each]}" for each in _TELLING if each in last["packages"])
    machine = f"{last['cpus']} cores of {last.get('cpu', 'an unnamed processor')}, {last['platform']}"
    changes = f" with the changes in `{PATCH}`" if code.get("patch") else " with changes that nobody kept"
    facts = {
        "commit": f"`{code['commit']}`" + (changes if code["dirty"] else ""),
        "Python": f"{last['python']}; {versions}; all others in environment.json",
        "machine": machine,
        "XLA_FLAGS": last.get("xla_flags") or "none",
        "seed": f"{published.config.get('seed')}; every random stream of the run follows from it",
        "starts": f"{len(published.starts)}: {_versions(published.starts)}",
    }
    parts += ["## What ran it", "\n".join(f"- {field}: {fact}" for field, fact in facts.items())]
    parts += ["## What is left out", _left_out(published)]
    return ("\n\n".join(parts) + "\n").encode()


def _table(result: Mapping[str, Any]) -> str:
    plain = {field: value for field, value in result.items() if isinstance(value, int | float | str)}
    return "\n".join(
        ["| field | value |", "|---|---|", *(f"| {field} | {_short(value)} |" for field, value in plain.items())]
    )


def _learning(published: Published) -> list[str]:
    updates = published.updates
    if updates is None:
        return []
    episodes = sum(map(len, updates.episodes))
    first, last = updates.digests[0], updates.digests[-1]
    weights = f"policy `{first.policy[:16]}` before and `{last.policy[:16]}` after"
    if first.value is not None and last.value is not None:
        weights += f", value model `{first.value[:16]}` and `{last.value[:16]}`"
    return [f"PPO made {len(updates.episodes)} updates of {episodes} episodes. SHA-256 of the weights: {weights}."]


def _contents(members: Mapping[str, Any]) -> str:
    lines: dict[str, list[int]] = {}
    for name, member in members.items():
        size = len(member) if isinstance(member, bytes) else member.stat().st_size
        lines.setdefault(name.partition("/")[0], []).append(size)
    return "\n".join(
        f"- `{name}`: {_MEANINGS.get(name, 'weights')}"
        + (f"; {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB" if len(sizes) > 1 else "")
        for name, sizes in sorted(lines.items())
    )


def _again(published: Published, archive: str, code: Mapping[str, Any]) -> str:
    folder = archive.removesuffix(".zip")
    lines = [f"git checkout {code['commit']}  # in a clone of tars_jax" if code["commit"] else "# in its tars_jax"]
    lines += [f"unzip {archive} -d {folder}"]
    lines += [f"git apply {folder}/{PATCH}"] if code.get("patch") else []
    lines += [f"cp {folder}/{LOCK} {LOCK}"]
    lines += [f"{LAUNCHER} {published.experiment} --config={folder}/config.json"]
    words = [
        "```\n" + "\n".join(lines) + "\n```",
        "The whole run again draws the same levels, demonstrations and random streams. Rollouts go on beside the "
        "learner, so the order in which episodes finish differs, and with it the updates.",
    ]
    has = {name.partition("/")[0] for name in published.members}
    if "trajectories" in has and published.updates is not None:
        words += [
            f"```\n{LAUNCHER} replay {archive} --config.mode=train\n```",
            "The learner alone, fed with the recorded episodes: on the same kind of machine every update gives the "
            "same weights, bit for bit, and the command says so or where the first difference is. On a GPU this takes "
            "`XLA_FLAGS=--xla_gpu_deterministic_ops=true` in both runs.",
        ]
    if "policy" in has and any(name.startswith("trajectories/after/") for name in published.members):
        words += [
            f"```\n{LAUNCHER} replay {archive} --config.mode=rollout\n```",
            "The recorded weights play the recorded evaluation tasks again, and the command says how many episodes are "
            "the same, token by token. Which requests share a batch follows the clock, and rounding follows the batch.",
        ]
    return "\n\n".join(words)


def _versions(starts: list[dict[str, Any]]) -> str:
    commits = list(dict.fromkeys(start["code"]["commit"] for start in starts))
    return "of one commit" if len(commits) == 1 else "of the commits " + ", ".join(f"`{each}`" for each in commits)


def _left_out(published: Published) -> str:
    config = str(published.config)
    words = ["TensorBoard's copy of the metrics, and the timeline."]
    if "trajectories" not in {name.partition("/")[0] for name in published.members}:
        words += ["The episodes: `publish --config.trajectories=updates` adds what a replay of the updates takes."]
    if ELSEWHERE in config or ADDRESS in config:
        words += [
            f"{ELSEWHERE}/ and {ADDRESS} in config.json stand for a folder and a server of the machine that ran it."
        ]
    return " ".join(words)


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
