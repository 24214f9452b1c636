"""New tasks on real websites: explored, composed, solved and verified, then filtered.

Each site of `config.sites` is started with its content, its tasks are made, and RUN/sites/NAME.json is written. A
killed run goes on where it was, by what RUN/sites/NAME.jsonl has of the candidates so far. At the end RUN/tasks.jsonl
has the tasks as the environment `website_app` plays them, RUN/judged.jsonl those that only a judge can verify,
RUN/report.html and RUN/table.md the yield and the reasons. With `config.readmit` the tasks of a file are made anew:
nothing is explored, their recorded solutions are done again, and their checks written from what these do. With
`config.reword` the tasks of a file are only said in the words that they would be composed in now. A list of
addresses is only sorted into what can be used and what not, unless its sites may be changed.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.config import ExplorationConfig, WebsiteSynthesisConfig
from tars_jax.data.website_synthesis.addresses import AddressSite
from tars_jax.data.website_synthesis.admission import Grounds
from tars_jax.data.website_synthesis.execution import play_at_random, tables_changed_by_looking
from tars_jax.data.website_synthesis.journal import CandidateOutcome, OutcomeJournal
from tars_jax.data.website_synthesis.models import ModelHelper
from tars_jax.data.website_synthesis.playing import Player, open_player
from tars_jax.data.website_synthesis.readmission import readmit_all
from tars_jax.data.website_synthesis.report import markdown, page
from tars_jax.data.website_synthesis.rewording import reword
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.synthesis import Say, SiteReport, shuffled, synthesize
from tars_jax.data.website_synthesis.task import SynthesizedTask
from tars_jax.data.website_synthesis.url_lists import AddressCheck, curate, read_url_list
from tars_jax.files import write_atomic
from tars_jax.json_fields import read_json
from tars_jax.pipelines.config import naming
from tars_jax.pipelines.schema import from_section
from tars_jax.pipelines.serving import read_key
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, PageError, SandboxFailure
from tars_jax.tasks.splits import SPLITS
from tars_jax.tasks.websites.catalog import installed_websites, load_website, website_names
from tars_jax.tasks.websites.task import WebsiteTask, read_website_tasks
from tars_jax.tasks.websites.websites import Websites
from tars_jax.training.progress import Progress
from tars_jax.training.run_directory import RunDirectory, write_json

FAILED_MARK = "failed"


def run(config: Any, run_directory: RunDirectory) -> int:
    read_key(config.api_key_file)  # one that cannot be read is said before any work
    if config.reword:
        with naming("config.reword", "reword"):
            tasks = read_website_tasks(Path(config.reword))
        return _reworded(tasks, run_directory)
    held_out = _names(config.held_out)
    sites = installed_websites() if config.sites == "installed" else _names(config.sites)
    if not (sites or config.addresses):
        raise InputError(f"config.sites must be installed websites, by ./launch/websites.sh; got {config.sites!r}")
    with naming("config.sites", "website"):
        for name in sites:
            load_website(name)  # one that there is not is told before any work
    with naming("config.addresses", "addresses"):
        addresses = read_url_list(Path(config.addresses)) if config.addresses else []
    with naming("config.readmit", "readmit"):
        former = _former(config, sites)
    asyncio.run(_all(config, run_directory, tuple(former) if config.readmit else sites, addresses, held_out, former))
    files = sorted((run_directory.path / "sites").glob("*.json"))
    records = {file.stem: read_json(file) for file in files}
    failures = {name: record[FAILED_MARK] for name, record in records.items() if FAILED_MARK in record}
    reports = [SiteReport.from_json(record) for name, record in records.items() if name not in failures]
    verdicts = _verdicts(run_directory)
    _write(config, run_directory.path, reports, failures, verdicts)
    return 0 if any(each.tasks for each in reports) or verdicts else 1


def _reworded(tasks: Sequence[WebsiteTask], run_directory: RunDirectory) -> int:
    """Writes RUN/tasks.jsonl: the tasks of a file in the words that they would be composed in now."""
    found = reword(tasks)
    changed = sum(one.instruction != other.instruction for one, other in zip(tasks, found, strict=True))
    _write_lines(run_directory.path / "tasks.jsonl", [task.to_json() for task in found])
    write_json(run_directory.path / "result.json", {"tasks": len(found), "reworded": changed})
    print(f"{changed} of {len(found)} tasks are said in other words: {run_directory.path / 'tasks.jsonl'}")
    return 0


def _former(config: Any, sites: tuple[str, ...]) -> dict[str, list[WebsiteTask]]:
    """The tasks that are to be made anew, by site. Raises InputError."""
    found: dict[str, list[WebsiteTask]] = {}
    for task in read_website_tasks(Path(config.readmit)) if config.readmit else ():
        if task.seed != config.content_seed or not task.about.get("solution"):
            raise InputError(
                f"{config.readmit}: tasks must have a solution and the seed {config.content_seed}; got {task.id!r}"
            )
        if task.site in sites:
            found.setdefault(task.site, []).append(task)
    if config.readmit and not found:
        raise InputError(f"{config.readmit} must have tasks of {', '.join(sites)}; got none")
    return found


async def _all(
    config: Any, run_directory: RunDirectory, sites: tuple[str, ...], addresses: list[str], held_out: tuple[str, ...],
    former: dict[str, list[WebsiteTask]],
) -> None:  # fmt: skip
    settings = from_section(
        WebsiteSynthesisConfig, config, random_episodes=config.random.episodes, random_actions=config.random.actions,
        held_out=held_out, most_s=config.site_s or math.inf, exploration=ExplorationConfig(**config.exploration),
    )  # fmt: skip
    browser = BrowserConfig(browsers=config.at_once, pages_per_browser=2, call_timeout_s=float(config.page_s))
    async with BrowserManager(browser) as manager:
        if sites:
            left = [name for name in sites if not _file(run_directory, name).exists()]

            async def worker(websites: Websites, player: Player) -> None:
                while left:
                    name = left.pop(0)
                    await _one(config, run_directory, websites, manager, settings, player, name, former.get(name, []))

            async with Websites() as websites, open_player() as player:
                workers = [asyncio.create_task(worker(websites, player)) for _ in range(config.at_once)]
                try:
                    await asyncio.gather(*workers)
                finally:
                    for each in workers:
                        each.cancel()
                    await asyncio.gather(*workers, return_exceptions=True)
        if addresses and run_directory.finished("addresses") is None:
            verdicts = await curate(manager, addresses)
            run_directory.finish("addresses", {"verdicts": [vars(each) for each in verdicts]})
        if addresses and config.may_change:
            for site in [AddressSite(each.url) for each in _verdicts(run_directory) if not each.reason]:
                name = re.sub(r"\W", "_", site.network[0])
                if not _file(run_directory, name).exists():
                    await _made(config, run_directory, manager, settings, site, name)


async def _one(
    config: Any, run_directory: RunDirectory, websites: Websites, manager: BrowserManager,
    settings: WebsiteSynthesisConfig,
    player: Player, name: str, former: list[WebsiteTask],
) -> None:  # fmt: skip
    try:
        session = await websites.open(load_website(name), config.content_seed)
    except SandboxFailure as failure:
        _note_failure(run_directory, name, failure)
        return
    try:
        await _made(config, run_directory, manager, settings, session, name, player, former)
    finally:
        await session.close()


async def _made(
    config: Any, run_directory: RunDirectory, manager: BrowserManager, settings: WebsiteSynthesisConfig, site: LiveSite,
    name: str, player: Player | None = None, former: Sequence[WebsiteTask] = (),
) -> None:  # fmt: skip
    helper = None
    if config.helper != "embedded":
        key = read_key(config.api_key_file)
        helper = ModelHelper(config.helper, config.model, key, config.max_tokens, float(config.answer_s))
    journal = OutcomeJournal(_file(run_directory, name).with_suffix(".jsonl"))
    try:
        if former:
            chance = await play_at_random(
                manager, site, settings.random_episodes, settings.random_actions, f"{settings.seed}:{name}"
            )
            grounds = Grounds(manager, site, await tables_changed_by_looking(site, chance[0]), chance)
            report = await readmit_all(grounds, name, former, journal, _shown(name, len(former), "read"))
        else:
            report = await synthesize(
                manager,
                site,
                name,
                settings,
                rewriter=helper,
                extractor=helper,
                journal=journal,
                say=_shown(name, settings.tasks, "tried"),
            )
    except (SandboxFailure, PageError) as failure:
        _note_failure(run_directory, name, failure)
        return
    if player is not None and config.play:
        report = await _played(config, report, player, journal)
    write_json(_file(run_directory, name), report.to_json())
    print(f"{name}: {len(report.tasks)} tasks of {report.tried} candidates", flush=True)


async def _played(config: Any, report: SiteReport, player: Player, journal: OutcomeJournal) -> SiteReport:
    """Without the tasks that the environment does not reward as it should."""
    kept, rejected = [], Counter(report.rejected)
    version = load_website(report.site).version
    said = _shown(f"{report.site}: play", len(report.tasks), "played")
    for number, task in enumerate(report.tasks, 1):
        if task.needs_judge:
            kept.append(task)
            continue
        outcome = journal.known(f"played {task.id}")
        if outcome is None:
            outcome = CandidateOutcome(await player.reason(task.playable(config.content_seed, version)))
            journal.note(f"played {task.id}", outcome)
        said(number, f"{outcome.reason or 'rewarded'}; {task.instruction}")
        if outcome.reason:
            rejected[outcome.reason] += 1
        else:
            kept.append(task)
    return dataclasses.replace(report, tasks=tuple(kept), rejected=dict(rejected))


def _shown(stage: str, total: int, what: str) -> Say:
    progress = Progress(stage, total, "tasks", min_seconds=0)
    return lambda done, words: progress.update(done, **{what: words})


def _verdicts(run_directory: RunDirectory) -> list[AddressCheck]:
    return [AddressCheck(**each) for each in (run_directory.finished("addresses") or {"verdicts": []})["verdicts"]]


def _note_failure(run_directory: RunDirectory, name: str, failure: Exception) -> None:
    """A site that fails costs that site alone; delete the file, and a resumed run tries it again."""
    print(f"{name} failed: {failure}", flush=True)
    write_json(_file(run_directory, name), {FAILED_MARK: str(failure)[:2000]})


def _file(run_directory: RunDirectory, name: str) -> Path:
    folder = run_directory.path / "sites"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.json"


def _write(
    config: Any, path: Path, reports: list[SiteReport], failures: dict[str, str], verdicts: list[AddressCheck]
) -> None:
    steps = Counter(task.steps for each in reports for task in each.tasks)
    tasks = shuffled((task for each in reports for task in each.tasks), config.seed)
    played = [task for task in tasks if task.site in website_names() and not task.needs_judge]
    playable = [task.playable(config.content_seed, load_website(task.site).version) for task in played]
    _write_lines(path / "tasks.jsonl", [task.to_json() for task in playable])
    _write_lines(path / "judged.jsonl", [task.to_json() for task in tasks if task not in played])
    write_atomic(path / "report.html", page(reports, failures, verdicts).encode())
    write_atomic(path / "table.md", (markdown(reports) + "\n").encode())
    splits = Counter(task.split for task in tasks)
    result = {
        "tasks": len(tasks), **{split: splits[split] for split in SPLITS}, "sites": len(reports), "failed": failures,
        "tried": sum(each.tried for each in reports), "steps": dict(sorted(steps.items())),
        "mutants": sum(task.mutants for task in tasks), "second_ways": sum(task.ways > 1 for task in tasks),
        "verified": dict(Counter(_verified_by(task) for task in tasks)), "seed": config.seed,
    }  # fmt: skip
    write_json(path / "result.json", result)
    print(f"{len(tasks)} tasks on {len(reports)} sites: {path / 'tasks.jsonl'}, {path / 'report.html'}")
    print(json.dumps(result))


def _verified_by(task: SynthesizedTask) -> str:
    return "state" if task.effect.changes else "answer" if task.reference else "rubric"


def _write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    write_atomic(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode())


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())
