"""Finished runs of `evaluate` on one page: all suites of a checkpoint side by side, and checkpoints compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.evaluation.benchmarks.side_by_side import (
    SuiteRun,
    benchmarks_table,
    comparison_tables,
    games_table,
    lmgame_table,
    read_suite_run,
)
from tars_jax.evaluation.report import ReportTable, page_html
from tars_jax.evaluation.tables import markdown
from tars_jax.files import write_atomic


def run(config: Any, run_directory: Any) -> None:
    runs = [read_suite_run(Path(path)) for path in config.runs]
    called = names_of(runs, config.names)
    ours = (benchmarks_table(runs, called), games_table(runs, called), lmgame_table(runs, called))
    tables = [table for table in ours if table is not None] + comparison_tables(runs, called)
    path = Path(config.output) if config.output else run_directory.path / "suites.html"
    title = config.title or f"Suites of {', '.join(called.values())}"
    told = "\n\n".join(f"## {each.title}\n\n{_markdown(each)}\n\n{each.note}" for each in tables)
    write_atomic(path.with_suffix(".md"), f"# {title}\n\n{told}\n".encode())
    write_atomic(path, page_html(title, "", [table.to_html() for table in tables]).encode())
    print(told)
    print(path)


def _markdown(table: ReportTable) -> str:
    return markdown(table.head, [[str(cell) for cell in row] for row in table.rows])


def names_of(runs: list[SuiteRun], names: tuple[str, ...]) -> dict[str, str]:
    """What checkpoints are called, in the order in which they come. Raises InputError for two runs of one suite by one
    checkpoint, and for names that are not one for each."""
    seen = [(run.suite, run.checkpoint) for run in runs]
    if twice := [each for each in seen if seen.count(each) > 1]:
        raise InputError(
            f"config.runs must hold one run of a suite by a checkpoint; got two of {twice[0][0]} by {twice[0][1]}"
        )
    checkpoints = list(dict.fromkeys(run.checkpoint for run in runs))
    if names and (len(names) != len(checkpoints) or len(set(names)) != len(names)):
        raise InputError(
            f"config.names must be different ones for {', '.join(checkpoints)}, in this order; got {', '.join(names)}"
        )
    return dict(zip(checkpoints, names or checkpoints, strict=True))
