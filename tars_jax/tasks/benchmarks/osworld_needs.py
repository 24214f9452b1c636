"""Needs of OSWorld's tasks: what each asks of the machine, and why some cannot be played here."""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax.tasks.benchmarks.osworld_files import cloud_files, local_copy

# What desktop-env 1.0.2 has, a line each: "metric NAME" or "getter NAME". Tasks of other versions name others.
SCORERS = Path(__file__).with_name("osworld_scorers.txt")
# by a word in `related_apps`: what it is called, and the programs of which one serves
APPLICATIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "chrome": ("Chrome or Chromium", ("chromium", "google-chrome", "chromium-browser")),
    "browser": ("Chrome or Chromium", ("chromium", "google-chrome", "chromium-browser")),
    "gimp": ("GIMP", ("gimp",)),
    "libreoffice": ("LibreOffice", ("libreoffice", "soffice")),
    "calc": ("LibreOffice", ("libreoffice", "soffice")),
    "thunderbird": ("Thunderbird", ("thunderbird",)),
    "vlc": ("VLC", ("vlc",)),
    "vscode": ("VS Code, which Debian does not have,", ("code",)),
    "vs_code": ("VS Code, which Debian does not have,", ("code",)),
}
BY_TREE = ("accessibility_tree", "active_url_from_accessTree", "active_tab_info", "active_tab_html_parse",
           "active_tab_url_parse", "url_dashPart", "url_path_parse", "vm_terminal_output")  # fmt: skip
ONLINE = ("info_from_website", "googledrive_file", "pdf_from_url", "gotoRecreationPage_and_get_html_content",
          "number_of_search_results", "page_info")  # fmt: skip
_LOCAL = re.compile(r"^(?:chrome|about|file|data):|^https?://(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)", re.I)
# What the words of a step or a scorer show that it needs, and no computer here has.
_SYSTEM = ((r"\btimedatectl\b", "systemd's clock"), (r"\bapt(?:-get)? install -?y? ?spotify", "a package archive"),
           (r"\bconda (?:list|install)", "conda from the internet"), (r"--install-extension\b", "VS Code's market"),
           (r"su - charles|check_password\.sh", "users besides the agent"))  # fmt: skip
SITE = "a website that is not there"
# Whose words alone say it, or who asks for what these versions do not have. By domain and id, as ids are not unique.
BY_ID: Mapping[str, str] = {
    "os/94d95f96-9699-4208-98ba-3c3119edf9c2": "an archive of packages on the internet",
    "vlc/bba3381f-b5eb-4439-bd9e-80c22218d5a7": SITE,
    "multi_apps/e1fc0df3-c8b9-4ee7-864c-d0b590d3aa56": SITE,
    "multi_apps/f8369178-fafe-40c2-adc4-b9b08a125456": SITE,
    "multi_apps/3c8f201a-009d-4bbe-8b65-a6f8b35bb57f": SITE,
    "multi_apps/69acbb55-d945-4927-a87b-8480e1a5bb7e": SITE,
    "multi_apps/26660ad1-6ebb-4f59-8cba-a8432dfe8d38": SITE,
    "chrome/121ba48f-9e17-48ce-9bc6-a4fb17a7ebba": SITE,
    # Doing nothing would be scored 1: VLC is the only player that is installed, and Chrome keeps a value of its own
    # today where the scorer looks for any.
    "multi_apps/937087b6-f668-4ba6-9110-60682ee33441": "another video player than VLC to be the default one at first",
    "chrome/99146c54-4f37-4ab8-9327-5f3291665e1e": "a Chrome that keeps no settings of sites unless it is told",
    # Chrome calls the engine otherwise today, and what is right would be scored 0.
    "chrome/bb5e4c0d-f964-439c-97b6-bdb9747de3f4": "a Chrome that calls a search engine Bing, and not Microsoft Bing",
    "chrome/480bcfea-d68f-4aaa-a0a9-2589ef319381": "a Chrome of 2023, whose experiments it sets",
}


@functools.cache
def scorers() -> frozenset[str]:
    return frozenset(SCORERS.read_text("utf-8").splitlines())


def left_out(record: Mapping[str, Any], domain: str, caches: Sequence[Path]) -> str:
    """A sentence on why a task cannot be played here; empty: it can."""
    evaluator = record["evaluator"]
    steps = [*(record.get("config") or []), *(evaluator.get("postconfig") or [])]
    getters = [each["type"] for part in ("result", "expected") for each in _listed(evaluator.get(part)) if each]
    metrics = [str(name) for name in _listed(evaluator["func"])]
    named = [*(f"metric {name}" for name in metrics), *(f"getter {name}" for name in getters)]
    if unknown := [each for each in named if each not in scorers()]:
        return f"It is scored by the {unknown[0]}, which desktop-env 1.0.2 does not have."
    if metrics == ["infeasible"] and not steps:
        return ""  # whoever sees no way says so, with or without the application
    for step in steps:
        if step["type"] in ("googledrive", "login"):
            return "It needs an account of Google Drive."
        for url in step["parameters"].get("urls_to_open", ()):
            if not _LOCAL.search(str(url)):
                return f"It needs a live website, {_site(url)}."
    if online := next((name for name in getters if name in ONLINE), ""):
        return f"It is scored by {online!r}, which asks a live website."
    if needed := BY_ID.get(f"{domain}/{record['id']}"):
        return f"It needs {needed}."
    if "compare_image_text" in metrics:
        return "It is scored by EasyOCR, which is not installed, as it takes gigabytes."
    if "compare_audios" in metrics and shutil.which("ffmpeg") is None:
        return "ffmpeg is not installed, without which its scorer takes sounds that it cannot read for the same."
    if tree := next((name for name in getters if name in BY_TREE), ""):
        return f"It is scored by {tree!r}, which reads an accessibility tree, and desktops here have none."
    files = cloud_files(record)
    if missing := [file for file in files if local_copy(file, record["id"], domain, caches) is None]:
        first = missing[0].name
        return f"{len(missing)} of its {len(files)} files must lie in cache/ beside the tasks; the first is {first}."
    for application in record.get("related_apps") or ():
        for word, (title, programs) in APPLICATIONS.items():
            if str(application).startswith(word) and not any(shutil.which(program) for program in programs):
                return f"{title} is not installed."
    if metrics == ["infeasible"]:
        return ""
    said = json.dumps([steps, evaluator], ensure_ascii=False)
    return next((f"It needs {what}." for pattern, what in _SYSTEM if re.search(pattern, said)), "")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _site(url: Any) -> str:
    return re.sub(r"^https?://", "", str(url)).partition("/")[0][:80]
