"""Data sets of prompts: the forms of records, the sides of rows and their order, and what is broken in them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.prompts import PromptSet, RecordForm, Sides, open_prompts, read_prompt

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


DIALOG = [{"role": "system", "content": "Be brief."}, user("One?"), assistant("1"), user("Two?"), assistant("2")]


@pytest.mark.parametrize(
    ("record", "instruction", "given", "answers"),
    [
        ({"prompt": "2 + 3 =", "answer": 5}, "2 + 3 =", "2 + 3 =", ("5",)),
        ({"prompt": "a", "completion": "b", "answer": "c"}, "a", "a", ("b",)),
        ({"prompt": [user("a")], "completion": [assistant("b")]}, "a", [user("a")], ("b",)),
        ({"question": "Who?", "answer": "Me"}, "Who?", [user("Who?")], ("Me",)),
        (
            {"messages": DIALOG},
            "Be brief.\n\nuser: One?\nassistant: 1\nuser: Two?",
            DIALOG[:4],
            ("2",),
        ),
        (
            {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]},
            "Hi",
            [user("Hi")],
            ("Ho",),
        ),
        ({"messages": [user("no answer")]}, "no answer", [user("no answer")], ()),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "in parts"}]}]},
            "in parts",
            [user("in parts")],
            (),
        ),
    ],
)
def test_a_record_says_its_prompt_in_any_form(record: Any, instruction: str, given: Any, answers: Any) -> None:
    prompt = read_prompt(record, "here", RecordForm())
    assert (prompt.instruction, prompt.given, prompt.answers, prompt.replies) == (instruction, given, answers, ())
    assert prompt.columns == record


def test_of_a_dialog_in_several_turns_the_user_goes_on() -> None:
    prompt = read_prompt({"messages": DIALOG}, "here", RecordForm(several=True))
    assert (prompt.instruction, prompt.answers, prompt.replies) == ("Be brief.\n\nOne?", ("1", "2"), ("Two?",))


def test_columns_are_what_they_are_said_to_be_and_a_system_message_is_set_before() -> None:
    form = RecordForm({"prompt": "problem", "answer": "solution"}, "Think.")
    prompt = read_prompt({"problem": "1 + 1", "solution": "2"}, "here", form)
    assert (prompt.instruction, prompt.given, prompt.answers) == ("Think.\n\n1 + 1", "1 + 1", ("2",))
    assert prompt.columns == {"problem": "1 + 1", "solution": "2", "prompt": "1 + 1", "answer": "2"}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": "a"}, "here must have one of the fields prompt, messages, conversations, question.*got text"),
        ({}, "got none"),
        ({"prompt": ""}, "field prompt must be a text"),
        ({"prompt": None, "messages": []}, "field messages must be a text or a list of messages; got"),
        ({"prompt": 5}, "field prompt must be a text or a list"),
        ({"prompt": "\ud800"}, "of characters that UTF-8 has"),
        ({"messages": [{"role": "robot", "content": "a"}]}, r"field messages\[0\] must have a role"),
        ({"messages": [{"role": "user", "content": None}]}, r"field messages\[0\] must be a text"),
        ({"messages": [assistant("a")]}, "must hold a message of the user"),
        ({"messages": ["a"]}, r"messages\[0\] must have a role"),
        ({"prompt": [{"role": "user", "content": [{"type": "image"}]}]}, "prompts show no pictures"),
        ({"prompt": "a", "completion": 5}, "field completion must be a text or a list"),
    ],
)
def test_a_broken_record_is_told_by_its_field(record: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_prompt(record, "here", RecordForm())


# ---- files


def write(path: Path, records: list[Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def opened(data: str, evaluation: str = "", **sides: Any) -> PromptSet:
    return open_prompts(data, evaluation, "train", RecordForm(), Sides(**sides))


def numbered(count: int) -> list[dict[str, str]]:
    return [{"prompt": f"row {number}", "answer": str(number)} for number in range(count)]


def prompts(of: PromptSet, split: str, count: int, stream: int = 0) -> list[str]:
    return [of.prompt(of.dealt.seed(split, index, stream)).instruction for index in range(count)]


def test_no_row_is_on_both_sides_and_each_comes_once_before_any_comes_again(tmp_path: Path) -> None:
    rows = opened(write(tmp_path / "a file.jsonl", [*numbered(50), *numbered(50)]), held_out=0.2)
    trained, evaluated = prompts(rows, "train", 80), prompts(rows, "eval", 20)
    assert (rows.dealt.count("train"), rows.dealt.count("eval")) == (80, 20)  # the same prompt twice is on one side
    assert len(set(trained)) == 40 and len(set(evaluated)) == 10 and not set(trained) & set(evaluated)
    assert sorted(prompts(rows, "train", 160)[80:]) == sorted(trained) != prompts(rows, "train", 160)[80:]
    assert prompts(rows, "train", 80) == trained != prompts(rows, "train", 80, stream=1)
    seeds = [rows.dealt.seed("train", index, stream) for index in range(160) for stream in range(3)]
    assert all(seed % 2 == 0 and seed < 2**53 for seed in seeds) and len(set(seeds)) == 480


def test_another_seed_holds_out_others_and_without_shuffling_rows_come_as_they_stand(tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", numbered(40))
    assert set(prompts(opened(data), "eval", 4)) != set(prompts(opened(data, seed=1), "eval", 4))
    in_order = prompts(opened(data, shuffle=False), "train", 36)
    assert in_order == sorted(in_order, key=lambda text: int(text.split()[1]))


def test_records_say_their_side_and_what_is_evaluated_on_is_not_trained_on(tmp_path: Path) -> None:
    records = [{"prompt": "a", "split": "train"}, {"prompt": "b", "split": "eval"}, {"prompt": "c"}, {"prompt": "b"}]
    rows = opened(write(tmp_path / "said.jsonl", records))
    assert (sorted(prompts(rows, "train", 2)), prompts(rows, "eval", 1)) == (["a", "c"], ["b"])
    assert rows.dealt.count("train") == 2
    apart = opened(write(tmp_path / "a.jsonl", numbered(6)), write(tmp_path / "b.jsonl", numbered(2)))
    assert (apart.dealt.count("train"), sorted(prompts(apart, "eval", 2))) == (4, ["row 0", "row 1"])
    with pytest.raises(InputError, match=r"bad.jsonl:1: field split must be train or eval; got 'test'"):
        opened(write(tmp_path / "bad.jsonl", [{"prompt": "a", "split": "test"}]))


def test_longer_prompts_are_left_out_and_the_longest_of_each_side_is_told(tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", [*numbered(12), {"prompt": "x" * 100}])
    rows = opened(data, max_characters=20)
    assert rows.dealt.count("train") + rows.dealt.count("eval") == 12
    longest = {rows.prompt(seed).instruction for seed in rows.dealt.telling()}
    assert max(map(len, longest)) == len("row 11") and {seed % 2 for seed in rows.dealt.telling()} == {0, 1}
    assert "x" * 100 in {opened(data).prompt(seed).instruction for seed in opened(data).dealt.telling()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "data must hold records; got none in .*a.jsonl"),
        ('{"prompt": "a"}\n', "data must hold prompts to train on and others to evaluate on"),
        ('{"prompt": "a"}\n{"prompt": \n', "a.jsonl:2 must be an object of JSON"),
        ('{"prompt": "a"}\n{"text": "a"}\n', "a.jsonl:2 must have one of the fields"),
    ],
)
def test_a_broken_file_is_told_by_its_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        opened(str(tmp_path / "a.jsonl"))


def test_what_is_no_data_set_is_told(tmp_path: Path) -> None:
    for data in ("nowhere.jsonl", str(tmp_path), __file__):
        with pytest.raises(InputError, match="option data must be a file of .jsonl, .parquet, .arrow"):
            opened(data)
    with pytest.raises(InputError, match=f"{__name__}:3 must be a mapping|three:3 must be a mapping"):
        opened(f"{__name__}:three")


def three() -> list[Any]:
    return [*numbered(2), 3]


def given() -> list[Any]:
    return numbered(10)


def test_a_function_gives_records_too() -> None:
    assert opened(f"{__name__}:given").dealt.count("train") == 9


# ---- tables


def test_parquet_has_no_nulls_that_columns_fill_up_with(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "messages": [user("a"), {**assistant("b"), "name": "x"}],
            "info": {"kind": 1},
            "when": datetime.date(2026, 1, 2),
        },
        {"messages": [user("c"), assistant("d")], "info": {"other": 2}, "when": datetime.date(2026, 1, 3)},
    ]
    days = [{**row, "when": datetime.date(2026, 1, 2 + number)} for number, row in enumerate(rows)]
    pq.write_table(pa.Table.from_pylist(days), tmp_path / "a.parquet")
    found = opened(str(tmp_path / "a.parquet"), held_out=0.5)
    both = {found.row(number).columns["when"]: found.row(number) for number in (0, 1)}
    assert both["2026-01-02"].columns["info"] == {"kind": 1} and both["2026-01-03"].columns["info"] == {"other": 2}
    assert [both[day].answers for day in sorted(both)] == [("b",), ("d",)]


def test_a_folder_of_the_hub_has_splits(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for split, count in (("train", 6), ("test", 9)):
        renamed = [{"prompt": f"{split} {each['prompt']}"} for each in numbered(count)]
        pq.write_table(pa.Table.from_pylist(renamed), tmp_path / "data" / f"{split}-00000-of-00001.parquet")
    alone = opened(str(tmp_path), held_out=0.5)
    assert (alone.dealt.count("train"), alone.dealt.count("eval")) == (3, 3)
    both = opened(str(tmp_path), str(tmp_path))
    assert (both.dealt.count("train"), both.dealt.count("eval")) == (6, 9) and prompts(both, "eval", 1)[0].startswith(
        "test"
    )


def test_pictures_in_a_column_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"prompt": "a", "image": {"bytes": b"\x89PNG"}}]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a.parquet:1 must be text and numbers, as prompts show no pictures"):
        opened(str(tmp_path / "a.parquet"))
