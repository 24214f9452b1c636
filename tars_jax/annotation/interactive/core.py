"""An episode under annotation as a value: what was proposed, who decided, who has the session, how it ended.

    proposed -> decided -> acted -> proposed -> ...     take_over, give_back, undone and ended from where they may come

Everything here is pure: a transition takes an `EpisodeView` and gives another, or raises `Conflict` with one sentence.
Who drives it (live.py) does what it says: asks the policy, acts, writes the journal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tars_jax import InputError

Phase = Literal["proposing", "deciding", "acting", "person", "ended", "lost"]
DecidedBy = Literal["annotator", "policy", "edited", "service"]  # the service looks at the screen anew
OPEN: tuple[Phase, ...] = ("proposing", "deciding", "acting", "person")
LEAST_SECONDS = 0.5  # in which a step can be looked at and decided: who says less is not believed
MOST_SECONDS = 3600.0  # of one step; who left the desk did not think for a day


class Conflict(InputError):
    """A request does not fit the episode's state: another tab was faster, or it is over."""


@dataclasses.dataclass(frozen=True)
class Mark:
    """Point of an action, in fractions of the screen's width and height."""

    kind: Literal["point", "box", "drag"]
    x: float
    y: float
    x2: float | None = None
    y2: float | None = None


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A candidate: one distinct answer that the policy proposed."""

    text: str
    thought: str
    action: str  # canonical calls; empty where it cannot be read
    error: str  # why it cannot be read; empty: it can
    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    versions: tuple[int, ...]
    log_probability: float | None  # of the whole answer; None: the policy's server does not say
    probability: float  # among the distinct answers, which sum to 1
    marks: tuple[Mark, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.error


@dataclasses.dataclass(frozen=True)
class Decision:
    """The action at one step, and who decided it."""

    text: str
    thought: str
    action: str
    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    versions: tuple[int, ...]
    decided_by: DecidedBy
    accepted: bool = False  # a person took the policy's answer as it was
    candidate: int | None = None  # which one was taken or edited
    seconds: float = 0.0
    keystrokes: int = 0
    annotator: str = ""
    live: bool = False  # a person acted while they had the session
    hidden: bool = False  # stands for what was typed in secret and is not kept
    context: bool = False  # nobody is to imitate it: a look at the screen, for one

    @property
    def by_person(self) -> bool:
        return self.decided_by in ("annotator", "edited") or self.accepted

    @property
    def learned(self) -> bool:
        """Whether a policy is to imitate it; else it is context."""
        return self.by_person and not (self.hidden or self.context)


@dataclasses.dataclass(frozen=True)
class Ending:
    success: bool | None
    reward: float
    reason: str
    claimed_success: bool | None = None  # what a person said of it; it counts where no environment verifies


@dataclasses.dataclass(frozen=True)
class EpisodeView:
    """State of an episode. `step` is the number of steps decided and done."""

    budget: int
    phase: Phase = "proposing"
    candidates: tuple[Candidate, ...] = ()
    decisions: tuple[Decision, ...] = ()
    person: bool = False  # a person has the session: the agent's actions are refused
    secret: bool = False
    asked: bool = False  # the gate has asked for a person
    calm: int = 0  # steps in a row at which it would not have asked
    reason: str | None = None  # why it asks
    away: str | None = None  # why the policy gives no answer
    switches: int = 0  # from the policy to a person
    ended: Ending | None = None
    message: str | None = None
    taken_back: tuple[tuple[str, float], ...] = ()  # annotator and seconds of each step that was undone

    @property
    def step(self) -> int:
        return len(self.decisions) - (self.phase == "acting" or self.secret)

    @property
    def seconds(self) -> float:
        """People's time, that of undone steps too."""
        return sum(self.spent.values())

    @property
    def seconds_undone(self) -> float:
        return sum(seconds for _, seconds in self.taken_back)

    @property
    def spent(self) -> dict[str, float]:
        """Seconds spent by each annotator."""
        return seconds_by(self.decisions, self.taken_back)

    @property
    def keeps_no_secret(self) -> bool:
        """Whether all that was done is known, so that it can be done again."""
        return not any(decision.hidden for decision in self.decisions)


@dataclasses.dataclass(frozen=True)
class Asking:
    """A gate's answer at a step."""

    asks: bool
    calm: int = 0
    reason: str | None = None


def proposed(
    episode: EpisodeView, candidates: Sequence[Candidate], asking: Asking, away: str | None = None
) -> EpisodeView:
    """The policy has answered, or is away; a person is asked, or the policy goes on."""
    _require(episode, "proposing")
    asks = asking.asks or away is not None or not any(candidate.valid for candidate in candidates)
    reason = asking.reason
    if away is not None:
        reason = f"the policy is away: {away}"
    elif not any(candidate.valid for candidate in candidates):
        reason = "the policy proposes nothing that can be read"
    return dataclasses.replace(
        episode,
        phase="deciding",
        candidates=tuple(candidates),
        asked=asks,
        calm=asking.calm,
        reason=reason if asks else None,
        away=away,
        switches=episode.switches + (asks and not episode.asked),
        message=None,
    )


def recovered(episode: EpisodeView, step: int, candidates: Sequence[Candidate]) -> EpisodeView:
    """A policy that was away has answered meanwhile: who decides sees what it would do."""
    _require(episode, "deciding")
    require_step(episode, step)
    return dataclasses.replace(episode, candidates=tuple(candidates), away=None, reason=None)


def proposing(episode: EpisodeView, step: int) -> EpisodeView:
    """The policy is asked anew."""
    _require(episode, "deciding")
    require_step(episode, step)
    return dataclasses.replace(episode, phase="proposing", candidates=())


def decided(episode: EpisodeView, decision: Decision) -> EpisodeView:
    """The decision is made, and is now carried out."""
    _require(episode, "person" if decision.live else "deciding")
    if episode.secret:
        raise Conflict("what is typed in secret is no step; secret is on")
    if len(episode.decisions) >= episode.budget:
        raise Conflict(f"the episode must have steps left; got {episode.budget} of {episode.budget} used")
    return dataclasses.replace(episode, phase="acting", decisions=(*episode.decisions, decision), message=None)


def acted(episode: EpisodeView) -> EpisodeView:
    """The episode once the decided action is done, and its observation is there."""
    _require(episode, "acting")
    return dataclasses.replace(
        episode, phase="person" if episode.person else "proposing", candidates=(), reason=None, message=None
    )


def undone(episode: EpisodeView, step: int) -> EpisodeView:
    """Back to before the last step."""
    if episode.phase not in ("deciding", "person"):
        raise Conflict(f"undo must wait until the step is done; it is {episode.phase}")
    if not episode.keeps_no_secret:
        raise Conflict("what was typed in secret is not kept, so the steps cannot be played again")
    require_step(episode, step)
    if not episode.decisions:
        raise Conflict("undo must have a step to take back; got none")
    return dataclasses.replace(
        episode,
        phase="person" if episode.person else "proposing",
        decisions=episode.decisions[:-1],
        taken_back=(*episode.taken_back, (episode.decisions[-1].annotator, episode.decisions[-1].seconds)),
        candidates=(),
        reason=None,
        message=None,
    )


def taken_over(episode: EpisodeView) -> EpisodeView:
    """A person has the session. What the policy proposed is refused, not queued."""
    if episode.phase not in ("proposing", "deciding"):
        raise Conflict(f"a person can take over while the policy proposes or somebody decides; it is {episode.phase}")
    return dataclasses.replace(
        episode,
        phase="person",
        person=True,
        candidates=(),
        reason=None,
        switches=episode.switches + (not episode.asked),
        asked=True,
    )


def secret_begun(episode: EpisodeView, stands_for: Decision) -> EpisodeView:
    """The episode while a secret is typed: nothing is kept; one step stands for all of it."""
    if episode.secret:
        raise Conflict("secret must be off to be turned on; it is on")
    if not episode.person:
        raise Conflict("a secret can be typed once a person has taken over; nobody has")
    _require(episode, "person")
    if len(episode.decisions) >= episode.budget:
        raise Conflict(f"the episode must have steps left; got {episode.budget} of {episode.budget} used")
    return dataclasses.replace(episode, secret=True, decisions=(*episode.decisions, stands_for))


def secret_over(episode: EpisodeView) -> EpisodeView:
    """A fresh observation comes next."""
    if not episode.secret:
        raise Conflict("secret must be on to be turned off; it is off")
    return dataclasses.replace(episode, secret=False, phase="acting")


def given_back(episode: EpisodeView) -> EpisodeView:
    """The agent goes on, from a fresh observation."""
    _require(episode, "person")
    if episode.secret:
        raise Conflict("the session can be given back once the secret is over; it is on")
    return dataclasses.replace(episode, phase="proposing", person=False, asked=False, calm=0, candidates=())


def finished(episode: EpisodeView, ending: Ending) -> EpisodeView:
    """The episode at its end. Where a person claims what the environment denies, the message says so."""
    if episode.phase not in OPEN:
        raise Conflict(f"the episode must be open; it is {episode.phase}")
    return dataclasses.replace(
        episode, phase="ended", ended=ending, candidates=(), reason=None, person=False, secret=False,
        message=_contradiction(ending),
    )  # fmt: skip


def _contradiction(ending: Ending) -> str | None:
    if ending.claimed_success is None or ending.claimed_success == ending.success:
        return None
    said = {True: "solved", False: "not solved"}
    own, claimed = said[bool(ending.success)], said[ending.claimed_success]
    return f"the environment verifies that it is {own}, and so it is stored; that it is {claimed} is kept as a claim"


def lost(episode: EpisodeView, why: str) -> EpisodeView:
    """The episode once it is lost; the steps that are done are kept."""
    return dataclasses.replace(
        episode, phase="lost", candidates=(), person=False, secret=False, message=why, reason=None
    )


def require_step(episode: EpisodeView, step: int) -> None:
    if step != episode.step:
        raise Conflict(f"step must be {episode.step}, where the episode stands; got {step}: another tab was faster")


def _require(episode: EpisodeView, phase: Phase) -> None:
    if episode.phase != phase:
        raise Conflict(f"the episode must be {phase}; it is {episode.phase}")


def seconds_by(decisions: Sequence[Decision], taken_back: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Seconds spent by each annotator."""
    spent: dict[str, float] = {}
    for name, seconds in (*((each.annotator, each.seconds) for each in decisions), *taken_back):
        spent[name] = spent.get(name, 0.0) + seconds
    return spent


def decision_to_json(decision: Decision) -> dict[str, Any]:
    return dataclasses.asdict(decision)


def decision_from_json(record: Mapping[str, Any]) -> Decision:
    """Inverse of `decision_to_json`. Raises InputError for what is none."""
    return _from_json(Decision, record)


def candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    return dataclasses.asdict(candidate)


def candidate_from_json(record: Mapping[str, Any]) -> Candidate:
    """Inverse of `candidate_to_json`. Raises InputError for what is none."""
    try:
        marks = tuple(Mark(**mark) for mark in record.get("marks", ()))
    except (TypeError, AttributeError) as error:
        raise InputError(f"a candidate must have marks; got {str(record)[:80]}") from error
    return _from_json(Candidate, {**record, "marks": marks})


def _from_json(kind: type[Any], record: Mapping[str, Any]) -> Any:
    columns = {name: tuple(record[name]) for name in ("tokens", "log_probs", "versions") if name in record}
    try:
        return kind(**{**record, **columns})
    except TypeError as error:
        raise InputError(f"a {kind.__name__.lower()} must have its fields; {error}") from error
