"""The page of the game that a module of tests names as GAME."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.pictures import chromium, open_game


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """At 96 x 96."""
    with chromium() as browser:
        yield open_game(browser, load_game(request.module.GAME), 96, 96)
