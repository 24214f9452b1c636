"""Files of JSON lines: where a line ends, and what is said of one that is none."""

import json
from pathlib import Path

import pytest

from tars_jax import InputError
from tars_jax.json_fields import read_json_lines


def test_lines_end_at_a_line_feed_alone(tmp_path: Path) -> None:
    file, text = tmp_path / "lines.jsonl", "a\u2028b\u2029c\x85d\x0be\x0cf"
    written = json.dumps({"text": text}, ensure_ascii=False)
    file.write_text(f"\n{written}\r\n  \n{written}", "utf-8", newline="")
    assert list(read_json_lines(file)) == [(f"{file}:2", {"text": text}), (f"{file}:4", {"text": text})]


def test_a_byte_order_mark_belongs_to_no_line(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n')
    assert [value for _, value in read_json_lines(file)] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "lines.jsonl:2 must be a task; "),
        (b"[1]", r"lines.jsonl:2 must be a task; got \[1\]"),
        (b'"\xff"', "lines.jsonl:2 must be a task; .*utf-8"),
        (b"[" * 100_000, "lines.jsonl:2 must be a task; "),
        (b'{"about": {"split": "train", "split": "eval"}}', "lines.jsonl:2 must be a task; 'split' stands in it twice"),
    ],
    ids=["cut", "no object", "no UTF-8", "deep", "a name twice"],
)
def test_what_is_no_line_is_said_with_its_number(line: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b'{"a": 1}\n' + line + b"\n")
    with pytest.raises(InputError, match=said):
        list(read_json_lines(file, "a task"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no.jsonl must be a file of lines, each an object of JSON; got No such file"):
        list(read_json_lines(tmp_path / "no.jsonl"))
