"""The report of a synthesis: yield and every reason of every rejection, by site, as a page and as a table."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tars_jax.data.website_synthesis.synthesis import SiteReport
from tars_jax.data.website_synthesis.task import SynthesizedTask
from tars_jax.data.website_synthesis.url_lists import AddressCheck

_STYLE = (
    "body{font:14px/1.45 system-ui,sans-serif;max-width:68em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.25em .6em;text-align:left;"
    "vertical-align:top}td.n{text-align:right}h2{margin-top:2em}small{color:#666}"
)
HEADERS = (
    "site", "split", "pages", "functions", "tried", "accepted", "yield", "checked by state", "by rubric", "steps",
)  # fmt: skip


def summary_rows(reports: Sequence[SiteReport]) -> list[tuple[str, ...]]:
    """Rows of the summary: one a site, and one of all."""
    found = [_row(each.site, (each,)) for each in reports]
    return [*found, _row("all", reports)] if len(reports) > 1 else found


def markdown(reports: Sequence[SiteReport]) -> str:
    """The tables as a document has them: yields, then reasons."""
    lines = [*_markdown_table(HEADERS, summary_rows(reports)), ""]
    reasons = total(each.rejected for each in reports)
    lines += [*_markdown_table(("reason of a rejection", "candidates"), _counted(reasons)), ""]
    dropped = total(each.dropped for each in reports)
    return "\n".join([*lines, *_markdown_table(("why a form or button made no function", "count"), _counted(dropped))])


def page(reports: Sequence[SiteReport], failures: Mapping[str, str], verdicts: Sequence[AddressCheck] = ()) -> str:
    """The report as one HTML file that opens offline."""
    parts = ["<h1>Tasks on websites</h1>", _table(HEADERS, summary_rows(reports))]
    if failures:
        parts.append(_table(("site that failed", "why"), list(failures.items())))
    if verdicts:
        rows = [(each.url, each.reason or "kept", each.said) for each in verdicts]
        parts.append("<h2>Addresses</h2>" + _table(("address", "verdict", "because"), rows))
    steps = Counter(task.steps for each in reports for task in each.tasks)
    parts.append("<h2>Difficulty</h2>" + _table(("steps", "tasks"), [(str(k), str(steps[k])) for k in sorted(steps)]))
    for each in reports:
        categories = Counter(task.category for task in each.tasks)
        parts += [
            f"<h2>{html.escape(each.site)}</h2>",
            _table(("functions", "count"), _counted(each.functions)),
            _table(("forms and buttons left out", "count"), _counted(each.dropped)),
            _table(("candidates rejected", "count"), _counted(each.rejected)),
            _table(("tasks", "count"), _counted(categories)),
            _table(
                ("task", "steps", "instruction", "verified by"),
                [(task.id, str(task.steps), task.instruction, verified_by(task)) for task in each.tasks],
            ),
        ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Tasks on websites</title><style>{_STYLE}</style>'
        f"{''.join(parts)}</html>"
    )


def verified_by(task: SynthesizedTask) -> str:
    """The effect or the rubric in a line, for whoever reads the report; no agent does."""
    if not task.effect.changes:
        return "; ".join(task.rubric)
    said = []
    for each in task.effect.changes:
        told = ", ".join(f"{name} {value!r}"[:120] for name, value in each.where.items())
        fields = [f"{name} is {value!r}"[:120] for name, value in each.is_.items()]
        fields += [f"{name} contains {list(texts)}"[:120] for name, texts in each.contains.items()]
        row = f"{each.read}({told})" if told else f"new {each.read}"
        said.append(f"{row} is gone" if each.gone else f"{row}: {', '.join(fields)}")
    return "; ".join(said)


def total(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return found


def _row(name: str, reports: Sequence[SiteReport]) -> tuple[str, ...]:
    tasks = [task for each in reports for task in each.tasks]
    tried = sum(each.tried for each in reports)
    splits = sorted({task.split for task in tasks})
    steps = sorted(task.steps for task in tasks)
    return (
        name, "/".join(splits), str(sum(each.pages for each in reports)),
        str(sum(sum(each.functions.values()) for each in reports)), str(tried), str(len(tasks)),
        f"{len(tasks) / tried:.0%}" if tried else "", str(sum(bool(task.effect.changes) for task in tasks)),
        str(sum(not task.effect.changes for task in tasks)),
        f"{steps[0]} to {steps[-1]}, median {steps[len(steps) // 2]}" if steps else "",
    )  # fmt: skip


def _counted(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    return [(name, str(count)) for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    heads = "".join(f"<th>{html.escape(each)}</th>" for each in headers)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{heads}</tr>{body}</table>"


def _markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    plain = [[cell.replace("|", "/") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in [headers, ["---"] * len(headers), *plain]]
