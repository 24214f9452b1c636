"""WebArena-Verified: tasks of websites, told by the agent's answer and by what its page asked of the network.

The path is the benchmark's own configuration file, which says where each site is:

    {"test_data_file": "tasks.json", "environments": {"__GITLAB__": {"urls": ["http://localhost:8023"]},
     "__WIKIPEDIA__": {"urls": ["website:otterwiki?seed=3"]}}}

`website:NAME?seed=NUMBER` is one of our websites (`tasks/websites`), in a computer of its own. Without
`test_data_file` the tasks are those that the package has, where ./launch/webarena_verified.sh has put it.
`environments.SITE.extra` may have `headers` (an object) and `storage_state` (a file of Playwright's), for who is logged
in.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tars_jax import InputError
from tars_jax.json_fields import Fields, read_json
from tars_jax.tasks.benchmarks.benchmark import Benchmark, BenchmarkTask
from tars_jax.tasks.websites.catalog import load_website
from tars_jax.tasks.websites.installation import installed

VERSION = "1.2.3"  # of the package, whose evaluators score
SITES = ("gitlab", "map", "reddit", "shopping_admin", "shopping", "wikipedia", "homepage")
EVALUATORS = ("AgentResponseEvaluator", "NetworkEventEvaluator")
FIELDS = (
    "sites", "task_id", "intent_template_id", "start_urls", "intent", "eval", "intent_template", "instantiation_dict",
    "revision",
)  # fmt: skip
MAX_STEPS = 50  # ours: the benchmark has none
SCRIPT = "./launch/webarena_verified.sh"
OURS = "website:"
FORM = """When you are done, finish with a JSON object alone, of these fields:
"task_type": "RETRIEVE" where the task asks for data, "MUTATE" where it asks to make, change or delete something, \
"NAVIGATE" where it asks to show a page;
"status": "SUCCESS"; or why it could not be done: "NOT_FOUND_ERROR", "ACTION_NOT_ALLOWED_ERROR", \
"PERMISSION_DENIED_ERROR", "DATA_VALIDATION_ERROR", "UNKNOWN_ERROR";
"retrieved_data": an array of what was asked for, all of one type, numbers as numbers; null where nothing was;
"error_details": null, or why in a few words."""


@dataclasses.dataclass(frozen=True)
class SitePlace:
    """The place of one of the benchmark's sites."""

    site: str
    urls: tuple[str, ...]  # as the configuration has them
    active: int = 0
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    storage_state: str = ""

    @property
    def is_ours(self) -> bool:
        return self.urls[self.active].startswith(OURS)

    @property
    def website(self) -> tuple[str, int]:
        """Name and seed of one of ours. Raises InputError for another form."""
        parts = urlsplit(self.urls[self.active])
        seed = parse_qs(parts.query).get("seed", ["1"])[0]
        if not parts.path or not (seed.isascii() and seed.isdecimal()):
            raise InputError(f"urls of {self.site} must be website:NAME?seed=NUMBER; got {self.urls[self.active]!r}")
        return parts.path, int(seed)

    @property
    def base(self) -> str:
        """The address that stands for the site's name in tasks."""
        return load_website(self.website[0]).origin if self.is_ours else self.urls[self.active].rstrip("/")


def package_folder() -> Path:
    """The folder in which the script has installed it, or TARS_JAX_WEBARENA_VERIFIED."""
    return Path(os.environ.get("TARS_JAX_WEBARENA_VERIFIED") or Path(__file__).parents[3] / ".cache/webarena_verified")


def read_webarena_verified(path: Path) -> list[BenchmarkTask]:
    """The tasks of a file; those of a site that the configuration lacks are left out, with the reason. Raises
    InputError, which names the file."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(
            f'{path} must be the benchmark\'s configuration file, {{"test_data_file": ..., "environments": ...}}; got '
            f"{type(content).__name__}"
        )
    fields = Fields(content, f"{path}: field ")
    places = dict(_places(fields))
    named = fields.text("test_data_file", "")
    file = path.parent / named if named else _package_tasks(path)
    records = read_json(file)
    if not isinstance(records, list) or not records:
        raise InputError(f"{file} must hold a list of tasks; got {type(records).__name__}, or none in it")
    why = {site: _closed(place) for site, place in places.items()}
    return [_task(record, f"{file}: entry {number}", file, places, why) for number, record in enumerate(records)]


def start_urls(record: Mapping[str, Any], places: Mapping[str, SitePlace]) -> list[str]:
    """Addresses that a task starts at, in the place of the sites' names."""
    return [
        re.sub(r"^__([A-Z_]+?)__", lambda found: places[found[1].lower()].base, url) for url in record["start_urls"]
    ]


def _package_tasks(path: Path) -> Path:
    packages = "lib/python*/site-packages"
    found = sorted(package_folder().glob(f"{packages}/webarena_verified/assets/dataset/webarena-verified.json"))
    if not found:
        raise InputError(f"{path}: field test_data_file must be a file of tasks, or {SCRIPT} must have installed these")
    return found[-1]


def _places(fields: Fields) -> Iterator[tuple[str, SitePlace]]:
    given = fields.of_type("environments", dict)
    for name, value in given.items():
        site = name.strip("_").lower()
        if site not in SITES:
            raise InputError(f"{fields.prefix}environments must be of {', '.join(SITES)}; got {name!r:.60}")
        if not isinstance(value, dict):
            raise InputError(f"{fields.prefix}environments.{name} must be an object; got {type(value).__name__}")
        place = Fields(value, f"{fields.prefix}environments.{name}.")
        urls = place.array("urls", required=True)
        if not urls or not all(isinstance(url, str) and _is_address(url) for url in urls):
            raise place.error("urls", "addresses of http or https, or website:NAME?seed=NUMBER")
        active = place.integer("active_url_idx", 0, 0, len(urls) - 1) or 0
        extra = Fields(place.value("extra") or {}, f"{place.prefix}extra.")
        headers = extra.value("headers") or {}
        if not isinstance(headers, dict) or not all(isinstance(each, str) for each in headers.values()):
            raise extra.error("headers", "an object of texts")
        yield site, SitePlace(site, tuple(urls), active, headers, extra.text("storage_state", ""))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme + ":" == OURS or (parts.scheme in ("http", "https") and bool(parts.hostname))
    except ValueError:
        return False


def _closed(place: SitePlace) -> str:
    """The reason why a site cannot be opened here; empty: it can."""
    if place.is_ours:
        try:
            installed(load_website(place.website[0]))
        except InputError as error:
            return str(error)
    return ""


def _task(
    record: object, where: str, file: Path, places: Mapping[str, SitePlace], why: Mapping[str, str]
) -> BenchmarkTask:
    if not isinstance(record, dict):
        raise InputError(f"{where} must be an object; got {type(record).__name__}")
    if unknown := sorted(record.keys() - set(FIELDS)):
        raise InputError(f"{where} must have the fields of version {VERSION}; got {unknown[0]!r}")
    fields = Fields(record, f"{where}: field ")
    id = fields.integer("task_id", None, 0, 1 << 53)
    if id is None:
        raise fields.error("task_id", "a whole number")
    sites = fields.array("sites", required=True)
    if not sites or any(site not in SITES for site in sites):
        raise fields.error("sites", f"some of {', '.join(SITES)}")
    urls = fields.array("start_urls", required=True)
    named = {found[1].lower() for url in urls if (found := re.match(r"__([A-Z_]+?)__", str(url)))}
    if not urls or not all(isinstance(url, str) for url in urls) or not named <= set(sites) or len(named) == 0:
        raise fields.error("start_urls", "addresses that begin with the name of a site, such as __GITLAB__")
    checks = fields.array("eval", required=True)
    for number, check in enumerate(checks):
        kind = check.get("evaluator") if isinstance(check, dict) else None
        if kind not in EVALUATORS:
            wanted = ", ".join(EVALUATORS)
            raise InputError(f"{where}: field eval[{number}].evaluator must be one of {wanted}; got {kind!r:.60}")
    if not any(check["evaluator"] == EVALUATORS[0] for check in checks):
        raise fields.error("eval", f"one {EVALUATORS[0]} or more")
    asked = fields.text("intent")
    if len(sites) > 1:  # a page opens the first
        asked += "\n\nSites: " + ", ".join(f"{site} at {places[site].base}" for site in sites if site in places)
    return BenchmarkTask(
        str(id), f"{asked}\n\n{FORM}", "-".join(sorted(sites)), left_out=_left_out(sites, places, why),
        record={"task": record, "places": {site: places[site] for site in sites if site in places},
                "test_data_file": str(file)},
    )  # fmt: skip


def _left_out(sites: list[str], places: Mapping[str, SitePlace], why: Mapping[str, str]) -> str:
    for site in sites:
        if site not in places:
            return f"environments says no address of {site}"
        if why[site]:
            return why[site]
    if len(sites) > 1 and any(places[site].is_ours for site in sites):
        return "a page shows one website of ours, as each has a computer of its own"
    return ""


WEBARENA_VERIFIED = Benchmark(
    name="webarena_verified",
    title="WebArena-Verified",
    version=VERSION,
    read=read_webarena_verified,
    environment="tars_jax.envs.benchmarks.webarena_verified:WebArenaVerifiedEnvironment",
    max_steps=MAX_STEPS,
    results="tars_jax.evaluation.benchmarks.webarena_verified:write_results",
)
