import pathlib
import zipfile

import pytest

from tars_jax import InputError
from tars_jax.training.archive import MANIFEST, extract_archive, write_archive

MEMBERS = {"b/two.txt": b"two" * 100, "one.png": bytes(range(256)), "a.json": b"{}"}


@pytest.fixture
def archive(tmp_path: pathlib.Path) -> pathlib.Path:
    write_archive(tmp_path / "run.zip", "dummy", MEMBERS)
    return tmp_path / "run.zip"


def test_what_was_written_comes_back(archive: pathlib.Path, tmp_path: pathlib.Path) -> None:
    extract_archive(archive, tmp_path / "out")
    found = {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes() for path in (tmp_path / "out").rglob("*.*")
    }
    assert found == MEMBERS
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_same_members_give_the_same_bytes(archive: pathlib.Path, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "later"
    file.write_bytes(MEMBERS["a.json"])
    again: dict[str, bytes | pathlib.Path] = {
        "a.json": file,
        **dict(reversed([(n, m) for n, m in MEMBERS.items() if n != "a.json"])),
    }
    write_archive(tmp_path / "again.zip", "dummy", again)
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


@pytest.mark.parametrize("position", [20, 60, 200, -30, -200])
def test_a_changed_byte_never_passes(archive: pathlib.Path, tmp_path: pathlib.Path, position: int) -> None:
    data = bytearray(archive.read_bytes())
    data[position] ^= 0x10
    archive.write_bytes(data)
    try:
        extract_archive(archive, tmp_path / "out")
    except InputError as error:
        assert str(archive) in str(error)
    else:  # where zip keeps dates and modes
        assert all((tmp_path / "out" / name).read_bytes() == content for name, content in MEMBERS.items())


def test_what_is_no_archive_is_named(archive: pathlib.Path, tmp_path: pathlib.Path) -> None:
    cut = tmp_path / "cut.zip"
    cut.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(InputError, match="cut.zip: damaged, or no archive"):
        extract_archive(cut, tmp_path / "out")
    with pytest.raises(InputError, match="does not exist"):
        extract_archive(tmp_path / "nowhere.zip", tmp_path / "out")
    with zipfile.ZipFile(cut, "w") as other:
        other.writestr("a.json", "{}")
    with pytest.raises(InputError, match=f"got one without {MANIFEST}"):
        extract_archive(cut, tmp_path / "out")


def test_missing_replaced_and_escaping_members(archive: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with zipfile.ZipFile(archive) as whole:
        contents = {name: whole.read(name) for name in whole.namelist()}

    def rewritten(**changed: bytes | None) -> pathlib.Path:
        members = {**contents, **{name.replace("_", "."): data for name, data in changed.items()}}
        with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
            for name, data in members.items():
                if data is not None:
                    other.writestr(name, data)
        return tmp_path / "other.zip"

    with pytest.raises(InputError, match="a.json is missing"):
        extract_archive(rewritten(a_json=None), tmp_path / "out")
    with pytest.raises(InputError, match="a.json is damaged"):
        extract_archive(rewritten(a_json=b"[]"), tmp_path / "out")
    with pytest.raises(InputError, match="manifest.json is damaged"):
        extract_archive(rewritten(manifest_json=contents[MANIFEST].replace(b"dummy", b"other")), tmp_path / "out")
    write_archive(tmp_path / "up.zip", "dummy", {"../up.txt": b"x"})
    with pytest.raises(InputError, match="must stay inside the archive"):
        extract_archive(tmp_path / "up.zip", tmp_path / "out")
    assert not (tmp_path / "up.txt").exists()
