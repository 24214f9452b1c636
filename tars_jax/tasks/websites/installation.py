"""The folder in which launch/websites.sh has put a site, and whether that is the declared version."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from tars_jax import InputError
from tars_jax.tasks.websites.site import Website

FOLDER_VARIABLE = "TARS_JAX_WEBSITES"
_REPOSITORY = Path(__file__).parents[3]


def websites_folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or _REPOSITORY / ".cache/websites")


def installed(site: Website) -> Path:
    """The folder of a site. Raises InputError where it is not installed, or in another version."""
    folder = websites_folder() / site.name
    found = _version(site, folder)
    if found == site.version:
        return folder.resolve()  # a live copy does not come back over a link
    got = f"version {found}" if found else "none"
    raise InputError(
        f"{site.name} {site.version} must be installed in {folder}, by ./launch/websites.sh {site.name}; got {got}"
    )


def is_installed(site: Website) -> bool:
    return _version(site, websites_folder() / site.name) == site.version


def _version(site: Website, folder: Path) -> str:
    """As the package itself says it; empty where there is none."""
    manager, _, package = site.package.partition(":")
    try:
        match manager:
            case "debian":  # 1:2.21-1+deb12u1: the packager's own numbers are around it
                return (folder / "version").read_text().strip().rpartition(":")[2].partition("-")[0].partition("+")[0]
            case "npm":
                return str(json.loads((folder / "node_modules" / package / "package.json").read_bytes())["version"])
        wanted = re.sub(r"[-_.]+", "_", package).lower()
        for each in folder.glob("*.dist-info"):
            name, _, version = each.name.removesuffix(".dist-info").rpartition("-")
            if re.sub(r"[-_.]+", "_", name).lower() == wanted:
                return version
    except (OSError, ValueError, KeyError):
        pass
    return ""
