"""A few tasks over the declared sites, with recorded solutions: to try the environment `website_app` with.

Solutions go by addresses and keys alone, so they hold on a machine with other fonts.
"""

from __future__ import annotations

import functools
from pathlib import Path

from tars_jax import InputError
from tars_jax.tasks.websites.catalog import installed_websites
from tars_jax.tasks.websites.task import WebsiteTask, read_website_tasks

FILE = Path(__file__).with_name("samples.json")


def sample_tasks() -> tuple[WebsiteTask, ...]:
    """Sample tasks of the sites that are installed. Raises InputError where there are none."""
    here = installed_websites()
    found = tuple(task for task in _all() if task.site in here)
    if not found:
        sites = ", ".join(dict.fromkeys(task.site for task in _all()))
        raise InputError(f"tasks must be given, or one of {sites} be installed by ./launch/websites.sh; got neither")
    return found


@functools.cache
def _all() -> tuple[WebsiteTask, ...]:
    return read_website_tasks(FILE)
