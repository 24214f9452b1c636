"""PPO of a learner whose computers are a sandbox service's, in another process; killed in the middle, it goes on."""

from __future__ import annotations

import collections
import os
from pathlib import Path
from typing import Any

import pytest

from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.training.recorded_updates import read_updates
from tars_jax.trajectory.files import load_trajectory
from tests.envs.conftest import KEY
from tests.experiment_process import ExperimentProcess
from tests.waiting import wait_until

GROUP, BATCH, UPDATES = 4, 8, 2
FLAGS = (
    "environment=computer", 'environment_options={"task": "end_process", "level": 1}', "ppo.group_start=fork",
    f"ppo.group_size={GROUP}", "ppo.advantages=group", f"ppo.updates={UPDATES}", f"ppo.min_batch={BATCH}",
    f"ppo.minibatch_rows={BATCH}", "demonstrations.episodes=0",
    "task.evaluation_episodes=4", "task.max_steps=3", "agent.list_actions=False", "agent.thought=never",
    "agent.max_observation_tokens=24", "browser.pages=8",
)  # fmt: skip


@pytest.mark.full
@pytest.mark.multiprocess
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, or another kind of isolation")
def test_groups_begin_from_one_far_session_and_nothing_is_left_of_a_learner(
    service: str, service_sessions: ComputerSessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(KEY)
    forks: collections.Counter[str] = collections.Counter()  # of each session
    fork = service_sessions.fork

    async def counted(session: ComputerSession, count: int, **options: Any) -> Any:
        forked = await fork(session, count, **options)
        forks[session.id] += count
        assert all(each.computer.origin in ("live", "replay") for each, _ in forked)  # as programs run there
        return forked

    monkeypatch.setattr(service_sessions, "fork", counted)

    def learner() -> ExperimentProcess:
        at = f"sandbox.address={service}", f"sandbox.key_file={tmp_path / 'key'}", f"run={tmp_path / 'run'}"
        return ExperimentProcess("train", *FLAGS, *at)

    killed = learner()
    try:
        killed.says(f"ppo          0/{UPDATES} updates")
        wait_until(lambda: len(forks) > 0)
    finally:
        killed.kill()
    assert service_sessions.all_of()  # until their leases are over
    for session in service_sessions.all_of():
        session.lease = type(session.lease)(session.lease.owner, 0.01, session.lease.token_sha256)
        session.renew()
    wait_until(lambda: not service_sessions.all_of())

    again = learner()
    try:
        again.ends_well()
    finally:
        again.kill()
    assert not service_sessions.all_of()
    assert max(forks.values()) == GROUP and sum(forks.values()) >= UPDATES * BATCH
    consumed = [number for update in read_updates(tmp_path / "run" / "updates.json").episodes for number in update]
    assert len(consumed) == len(set(consumed)) == UPDATES * BATCH
    played = [load_trajectory(path) for path in (tmp_path / "run" / "trajectories" / "ppo").glob("*.trajectory")]
    assert all(each.outcome.carries_reward for each in played)
