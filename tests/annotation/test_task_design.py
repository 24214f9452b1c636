"""Task graphs become tasks: importance, rubric, drawing, words; and what a user writes wrong is named."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tars_jax import InputError
from tars_jax.annotation.task_design.applications import Application, read_applications
from tars_jax.annotation.task_design.design import DesignedTask, design_tasks, summary
from tars_jax.annotation.task_design.difficulty import LEVELS, Difficulty
from tars_jax.annotation.task_design.example import APPLICATIONS, GRAPHS
from tars_jax.annotation.task_design.graph import MEASURES, ApplicationFunction, TaskGraph, read_graph
from tars_jax.annotation.task_design.queries import TaskQuery
from tars_jax.annotation.task_design.wording import WRITTEN, why_refused

EQUAL = dict.fromkeys(MEASURES, 1.0)
GRAPH: dict[str, Any] = {
    "application": "Notes",
    "functions": [
        {"id": "open", "goal": "open {name}", "frequency": 10, "benefit": 2, "transfer": 4, "values": {"name": ["a"]}},
        {"id": "print", "goal": "print it", "frequency": 5, "benefit": 4, "needs": ["open"], "steps": 4, "pages": 2},
    ],
}


def example() -> tuple[list[TaskGraph], tuple[Application, ...]]:
    return [read_graph(file) for file in sorted(GRAPHS.glob("*.toml"))], read_applications(APPLICATIONS)


def designed(count: int, seed: int, across: float = 0.25) -> tuple[DesignedTask, ...]:
    graphs, applications = example()
    return design_tasks(graphs, applications, count, seed, across=across, weights=EQUAL)[0]


def written(folder: Path, record: Any) -> Path:
    file = folder / "graph.json"
    file.write_text(json.dumps(record))
    return file


def test_importance_is_the_mean_of_shares_of_the_largest(tmp_path: Path) -> None:
    graph = read_graph(written(tmp_path, GRAPH))
    # open: 10/10, 2/4, 4/4; print: 5/10, 4/4, 0/4
    assert graph.importance(EQUAL) == pytest.approx({"open": 2.5 / 3, "print": 1.5 / 3})
    assert graph.importance({"frequency": 0, "benefit": 1, "transfer": 0}) == pytest.approx({"open": 0.5, "print": 1})


def test_the_rubric_as_its_table_says() -> None:
    assert Difficulty(3, 0, 0, 0).points == {"steps": 0, "pages_crossed": 0, "prerequisites": 0, "exceptions": 0}
    assert Difficulty(4, 1, 1, 1).total == 4 and Difficulty(4, 1, 1, 1).level == "medium"
    assert Difficulty(16, 4, 4, 3).total == 12 and Difficulty(16, 4, 4, 3).level == "hard"
    assert [Difficulty(*each).level for each in ((7, 0, 0, 1), (7, 1, 1, 0), (15, 2, 2, 0), (15, 2, 2, 1))] == [
        "easy", "medium", "medium", "hard",
    ]  # fmt: skip


@given(st.tuples(*[st.integers(0, 30)] * 4), st.integers(0, 3))
def test_more_of_anything_makes_nothing_easier(counts: tuple[int, ...], more_of: int) -> None:
    more = [count + (place == more_of) for place, count in enumerate(counts)]
    assert LEVELS.index(Difficulty(*more).level) >= LEVELS.index(Difficulty(*counts).level)


def test_the_example_gives_balanced_tasks_for_both_tracks() -> None:
    tasks = designed(60, 0)
    assert len(tasks) == 60 == len({each.id for each in tasks}) == len({each.instruction for each in tasks})
    assert set(Counter(each.query.difficulty.level for each in tasks)) == set(LEVELS)
    assert {each.query.skill for each in tasks} == {"novice", "intermediate", "expert"}
    assert {each.track for each in tasks} == {"expert", "novice"}
    assert {name for each in tasks for name in each.query.applications} == {"Roundup", "Mousepad", "Files"}
    for task in tasks:
        record = json.loads(json.dumps(task.to_json()))
        assert record["track"] == ("expert" if record["difficulty"]["level"] == "hard" or record["skill"] == "expert"
                                   else "novice")  # fmt: skip
        assert (record["track"] == "novice") == bool(record["may_look_up"])
        assert "{" not in record["instruction"]
        assert all(application in record["instruction"] for application in record["applications"])


def test_the_same_seed_gives_the_same_tasks_and_another_others() -> None:
    assert [each.to_json() for each in designed(30, 1)] == [each.to_json() for each in designed(30, 1)]
    assert [each.id for each in designed(30, 1)] != [each.id for each in designed(30, 2)]


def test_the_share_across_applications_is_as_asked() -> None:
    def several(across: float) -> int:
        return sum(len(task.query.applications) > 1 for task in designed(24, 0, across))

    assert several(0.0) == 0 and several(0.5) == pytest.approx(12, abs=2)


def test_what_is_passed_on_has_one_name_in_both_applications() -> None:
    moved = [
        task.query
        for task in designed(200, 0, 1.0)
        if [each.split("/")[1] for each in task.query.functions] == ["save_copy", "move_file"]
    ]
    assert moved
    for query in moved:
        assert dict(query.parts[0].values)["name"] == dict(query.parts[1].values)["name"]


def test_what_comes_before_is_about_the_same_things() -> None:
    """No task speaks of a folder that was made and of another one that is used."""
    for task in (task for seed in range(6) for task in designed(60, seed)):
        said = task.instruction
        both = '"bills"' in said and '"letters"' in said
        assert not (both and "make a folder" in said and "into the folder" in said), said


def test_important_functions_of_good_applications_come_more_often() -> None:
    functions = tuple(
        ApplicationFunction(f"{name}-{n}", f"do the {name} thing {n}", "", much, much, much)
        for name, much in (("common", 10), ("rare", 1))
        for n in range(6)
    )
    graph = TaskGraph("Tool", functions, "desktop")
    drawn = Counter(
        task.query.parts[0].function.id.partition("-")[0]
        for seed in range(10)
        for task in design_tasks([graph], [Application("Tool", 0.5, 0.5)], 4, seed, across=0, weights=EQUAL)[0]
    )
    assert drawn["common"] > 3 * drawn["rare"] > 0


def test_scores_of_applications(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("application,coverage,penetration,engagement\nB,0.25,0.25,\nA,0.5,0.5,0.064\nC,1,0,\n")
    # A: the cube root of 0.016; B: the square root of 0.0625
    assert {each.name: round(each.score, 4) for each in read_applications(file)} == {"A": 0.252, "B": 0.25, "C": 0.0}
    assert [row[0] for row in summary((), read_applications(file))] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("", "row 1 must name the columns application, coverage, penetration; got none for application"),
        ("application,coverage\nA,1\n", "got none for penetration"),
        ("application,coverage,penetration,color\nA,1,1,red\n", "got 'color'"),
        ("application,coverage,penetration\nA,1\n", "row 2 must have 3 cells; got 2"),
        ("application,coverage,penetration\nA,1,many\n", "row 2, column penetration must be a number from 0 to 1"),
        ("application,coverage,penetration\nA,1,nan\n", "row 2, column penetration must be a number from 0 to 1"),
        ("application,coverage,penetration\nA,1,0\nA,1,1\n", "got 'A' twice"),
        ("application,coverage,penetration\n,1,0\n", "row 2, column application must be a name"),
        ("application,coverage,penetration\n", "must hold an application at least"),
    ],
)
def test_a_table_that_is_none_is_refused_by_row_and_column(tmp_path: Path, table: str, says: str) -> None:
    file = tmp_path / "table.csv"
    file.write_text(table)
    with pytest.raises(InputError) as raised:
        read_applications(file)
    assert says in str(raised.value) and str(file) in str(raised.value)


@settings(max_examples=40, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(["application", "coverage", "penetration", ",", ",", "\n", "0.5", "A", '"', "1e999", "-1"])
    ).map("".join)
)
def test_any_table_is_read_or_refused_by_its_name(table: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.csv")
        for text in (table, f"application,coverage,penetration\n{table}"):
            file.write_text(text, "utf-8", newline="")
            try:
                assert read_applications(file)
            except InputError as error:
                assert str(file) in str(error)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"application": ""}, "field application must be a text that is not empty"),
        ({"kind": "car"}, "field kind must be one of desktop, phone, website"),
        ({"colour": 1}, "field colour must be left out"),
        ({"functions": 3}, "field functions must be an array"),
        ({"functions": []}, "field functions must hold one with a goal"),
        ({"functions": [{"id": "a", "goal": "do {x}"}]}, "functions[0].values must hold each slot of the goal"),
        ({"functions": [{"id": "a", "goal": "do {x y}"}]}, "functions[0].goal must have slots as {name}"),
        ({"functions": [{"id": "a", "goal": "b", "frequency": -1}]}, "functions[0].frequency must be a number from 0"),
        ({"functions": [{"id": "a", "goal": "b", "needs": ["c"]}]}, "functions[0].needs must name functions"),
        ({"functions": [{"id": "a", "goal": "b", "gives": ["x:y"]}]}, "functions[0].gives must name slots"),
        ({"functions": [{"id": "a", "goal": "b"}, {"id": "a", "goal": "c"}]}, "got 'a' twice"),
        ({"functions": [{"id": "a", "goal": "b", "needs": ["a"]}]}, "field needs must lead in no circle; got a -> a"),
        ({"functions": [{"id": "a", "goal": "b", "part_of": "c"}, {"id": "c", "part_of": "a"}]}, "field part_of must"),
    ],
)
def test_a_graph_that_is_none_is_refused_by_file_and_field(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as raised:
        read_graph(written(tmp_path, {**GRAPH, **change}))
    assert says in str(raised.value) and "graph.json" in str(raised.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = [field.name for field in dataclasses.fields(ApplicationFunction)]


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(["application", "kind", "functions", "more"]), json_values),
       st.dictionaries(st.sampled_from(FIELDS), json_values))  # fmt: skip
def test_any_graph_is_read_or_refused(top: dict[str, Any], field: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for record in ({**GRAPH, **top}, {**GRAPH, "functions": [*GRAPH["functions"], {"id": "x", **field}]}):
            try:
                graph = read_graph(written(Path(folder), record))
            except InputError as error:
                assert "graph.json" in str(error)
            else:
                list(design_tasks([graph], [Application(graph.application, 1, 1)], 5, 0, across=0, weights=EQUAL)[0])


class Says:
    """A writer with these words."""

    name = "says"

    def __init__(self, change: Any) -> None:
        self._change = change

    def write(self, instruction: str, query: TaskQuery) -> str:
        return str(self._change(instruction))


@pytest.mark.parametrize(
    ("change", "becomes"),
    [
        (lambda text: f"Please: {text}", WRITTEN),
        (lambda text: text.replace('"', "'"), "leaves out a quoted text"),
        (lambda text: f'{text} Use "red".', "adds a quoted text"),
        (lambda text: f"{text} Do it 3 times.", "adds a figure"),
        (lambda text: "Do the task.", "leaves out"),
        (lambda text: "", "the model declined"),
        (lambda text: text * 40, "says nothing, or too much"),
    ],
)
def test_a_models_words_stand_only_where_they_ask_for_the_same(change: Any, becomes: str) -> None:
    graphs, applications = example()
    tasks, counts = design_tasks(graphs, applications, 12, 0, across=0.25, weights=EQUAL, writer=Says(change))
    assert any(reason.startswith(becomes) for reason in counts), counts
    kept = {each.instruction for each in designed(12, 0)}
    for task in tasks:
        assert (task.worded_by == "says") == (task.instruction not in kept)
    if becomes != WRITTEN:
        assert any(task.instruction in kept for task in tasks)


def test_what_is_refused_of_a_wording() -> None:
    assert why_refused('In A, open "x" 3 times.', 'Open "x" in a, 3 times.', ["A"]) == ""
    assert why_refused('In A, open "x".', 'Open "x".', ["Apple"]) == "leaves out an application"


def test_tasks_need_a_score_and_one_graph_of_each(tmp_path: Path) -> None:
    graphs, applications = example()
    with pytest.raises(InputError, match="got none for"):
        design_tasks(graphs, applications[:1], 3, 0, weights=EQUAL)
    with pytest.raises(InputError, match="two of"):
        design_tasks([graphs[0], graphs[0]], applications, 3, 0, weights=EQUAL)
    with pytest.raises(InputError, match="weights must"):
        design_tasks(graphs, applications, 3, 0, weights=dict.fromkeys(MEASURES, 0.0))
