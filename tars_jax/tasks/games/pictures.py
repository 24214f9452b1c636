"""Makes picture.png of every game while its reference player plays, and pictures.jpg of all on one sheet.

python -m tars_jax.tasks.games.pictures
"""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.sandbox.browser.chromium_flags import SOFTWARE, angle_flags, is_sandboxed, sandbox_flags
from tars_jax.sandbox.browser.config import find_executable
from tars_jax.tasks.games.catalog import GAMES_FOLDER, Game, game_names, load_game
from tars_jax.tasks.games.moves import Move

PICTURE_SIZE = (640, 360)
COLUMNS = 5  # of the sheet


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium of this machine. Raises `InputError` if there is none."""
    executable, flags = find_executable(), [*angle_flags(SOFTWARE), *sandbox_flags()]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=flags, chromium_sandbox=is_sandboxed())
        try:
            yield browser
        finally:
            browser.close()


def open_game(browser: Browser, game: Game, width: int, height: int) -> Page:
    """The game's page, from the disk, in a viewport of its own."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto((game.site_root / game.index).as_uri())
    return page


def perform(page: Page, move: Move) -> None:
    """Does one move of a reference player in the page."""
    size = page.viewport_size
    assert size is not None
    if move.function == "click":
        x, y = move.parameters["point"]
        page.mouse.click(x * size["width"] / 1000, y * size["height"] / 1000)
    elif move.function == "drag":
        (x, y), (to_x, to_y) = move.parameters["start_point"], move.parameters["end_point"]
        page.mouse.move(x * size["width"] / 1000, y * size["height"] / 1000)
        page.mouse.down()
        page.mouse.move(to_x * size["width"] / 1000, to_y * size["height"] / 1000, steps=4)
        page.mouse.up()
    elif move.function == "hotkey":
        page.keyboard.press("Arrow" + move.parameters["key"].capitalize())
    else:
        raise InputError(f"a reference player's move must be a click, a drag or an arrow key; got {move.function!r}")


def make_picture(browser: Browser, game: Game) -> bytes:
    """A small PNG of a moment of play."""
    page = open_game(browser, game, 1280, 720)
    page.evaluate("options => game.start(options)", game.picture["options"])
    rng = random.Random(0)
    for _ in range(game.picture["moves"]):
        perform(page, game.reference(page.evaluate("game.state()"), rng))
    page.wait_for_timeout(2 * game.settle_ms)
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        small = picture.convert("RGB").resize(PICTURE_SIZE, Image.Resampling.LANCZOS)
    page.close()
    packed = io.BytesIO()
    small.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
    return packed.getvalue()


def make_sheet() -> bytes:
    """All pictures on one sheet, as a JPEG."""
    names = game_names()
    width, height = PICTURE_SIZE[0] // 2, PICTURE_SIZE[1] // 2
    sheet = Image.new("RGB", (width * COLUMNS, height * -(-len(names) // COLUMNS)))
    for number, name in enumerate(names):
        with Image.open(GAMES_FOLDER / name / "picture.png") as picture:
            small = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
        sheet.paste(small, (number % COLUMNS * width, number // COLUMNS * height))
    packed = io.BytesIO()
    sheet.save(packed, "JPEG", quality=88)
    return packed.getvalue()


def main() -> None:
    with chromium() as browser:
        for name in game_names():
            game = load_game(name)
            picture = make_picture(browser, game)
            write_atomic(game.folder / "picture.png", picture)
            print(f"{name}: picture.png, {len(picture) / 1024:.0f} KiB")
    write_atomic(GAMES_FOLDER / "pictures.jpg", make_sheet())


if __name__ == "__main__":
    main()
