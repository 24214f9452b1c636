"""A session as the page sees it (the HTTP contract's `state`)."""

from __future__ import annotations

import dataclasses
from typing import Any

from tars_jax.annotation.interactive.completion import signatures
from tars_jax.annotation.interactive.core import Candidate, Decision
from tars_jax.annotation.interactive.journal_entries import JournaledEpisode
from tars_jax.annotation.interactive.live import LiveEpisode
from tars_jax.annotation.interactive.recorded import DoneStep


def state_of(id: str, live: LiveEpisode, note: str | None = None) -> dict[str, Any]:
    """While a secret is typed neither text nor picture is in it."""
    state, record, observation = live.state, live.record, live.observation
    screen = None
    if not state.secret and observation.pixels is not None:
        height, width = observation.pixels.shape[:2]
        version = live.screen_version
        url = f"/api/sessions/{id}/screen.png?v={version}"
        screen = {"version": version, "width": width, "height": height, "url": url}
    left = live.minutes_left()
    return {
        "session": id,
        "revision": live.version,
        "task": record.task.id,
        "environment": record.task.environment,
        "instruction": record.instruction,
        "step": state.step,
        "budget": state.budget,
        "phase": "person" if state.secret else state.phase,
        "reason": state.reason,
        "observation": {"text": "" if state.secret else observation.text, "screen": screen},
        "secret": state.secret,
        "candidates": [candidate_view(index, each) for index, each in enumerate(state.candidates)],
        "history": [history_view(number, done.decision) for number, done in enumerate(record.steps)],
        "functions": [dataclasses.asdict(signature) for signature in signatures(record.space)],
        "actions": list(record.space.actions),
        "grammar": live.setting.agent.grammar,
        "can_undo": live.why_not_undo is None,
        "why_not_undo": live.why_not_undo,
        "ended": None if state.ended is None else dataclasses.asdict(state.ended),
        "minutes_left": left,
        "switches": state.switches,
        "policy": {"name": live.setting.policy.name, "version": live.setting.policy.version, "away": state.away},
        "message": state.message or note,
        "annotator": live.annotator,
    }


def candidate_view(index: int, candidate: Candidate) -> dict[str, Any]:
    return {
        "index": index, "text": candidate.text, "thought": candidate.thought, "action": candidate.action,
        "probability": candidate.probability, "log_probability": candidate.log_probability,
        "valid": candidate.valid, "error": candidate.error or None,
        "marks": [dataclasses.asdict(mark) for mark in candidate.marks],
    }  # fmt: skip


def history_view(number: int, decision: Decision) -> dict[str, Any]:
    return {
        "step": number, "text": decision.text, "thought": decision.thought, "action": decision.action,
        "decided_by": decision.decided_by, "accepted": decision.accepted, "annotator": decision.annotator,
        "seconds": decision.seconds, "keystrokes": decision.keystrokes, "live": decision.live,
        "hidden": decision.hidden,
    }  # fmt: skip


def episode_view(id: str, kept: JournaledEpisode) -> dict[str, Any]:
    """A line of the list of episodes."""
    ended, steps = kept.ended, kept.record.steps
    return {
        "id": id, "task": kept.record.task.id, "environment": kept.record.task.environment,
        "instruction": kept.record.instruction, "annotator": kept.annotator,
        "annotators": list(kept.annotators), "steps": len(steps),
        "success": None if ended is None else ended.success, "reward": None if ended is None else ended.reward,
        "verdict": verdict_of(kept), "open": ended is None and kept.lost is None, "lost": kept.lost,
        "seconds": sum(kept.spent.values()), "seconds_undone": sum(seconds for _, seconds in kept.taken_back),
        "claimed_success": None if ended is None else ended.claimed_success, "switches": kept.switches,
        "corrected": sum(done.decision.by_person and not done.decision.accepted for done in steps),
        "reviews": [{name: review[name] for name in ("name", "agree", "note")} for review in kept.reviews],
    }  # fmt: skip


def lost_view(id: str, why: str) -> dict[str, Any]:
    """A line of the list for an episode whose journal cannot be read: only the reason is known."""
    return {
        "id": id, "task": "", "environment": "", "instruction": "", "annotator": "",
        "annotators": [], "steps": 0, "success": None,
        "reward": None, "verdict": "lost", "open": False, "lost": why, "seconds": 0.0, "switches": 0, "corrected": 0,
        "reviews": [],
    }  # fmt: skip


def verdict_of(kept: JournaledEpisode) -> str:
    if kept.lost is not None:
        return "lost"
    if kept.ended is None:
        return "unfinished"
    return {True: "solved", False: "not solved", None: "nobody says"}[kept.ended.success]


def step_view(id: str, kept: JournaledEpisode, number: int, done: DoneStep, screen: str) -> dict[str, Any]:
    version = kept.versions[number] if number < len(kept.versions) else -1
    return {
        **history_view(number, done.decision),
        "observation": kept.record.observation(number).text,
        "screen": f"/api/episodes/{id}/screens/{screen}" if screen else None,
        "candidate": done.decision.candidate, "reason": done.reason, "policy_version": version,
        "candidates": [candidate_view(index, each) for index, each in enumerate(done.candidates)],
        "reward": None if done.transition is None else done.transition.reward,
    }  # fmt: skip
