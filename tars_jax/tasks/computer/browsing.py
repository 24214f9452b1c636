"""Tasks with a browser on the desktop and a local site; most need a function besides."""

from __future__ import annotations

import random

from tars_jax.sandbox.computer.home import File
from tars_jax.tasks.computer.desktop import ENTER, HOME, expect_text
from tars_jax.tasks.computer.scene import (
    COLORS,
    FRUITS,
    ComputerScene,
    MakeScene,
    SceneOutcome,
    expect,
    pick,
    sentence,
)
from tars_jax.tasks.computer.site import ADDRESS, SitePage, SiteRequest, page, picture
from tars_jax.tasks.computer.steps import Gui, keys, write

README = {"readme.txt": File(b"nothing\n")}
_OPENS = (("browser", ADDRESS),)
_TAB = keys("tab")
_THANKS = page("Thanks", "<p>We have it.</p>")


def _press(title: str) -> tuple[Gui, Gui]:
    """The next link of the page of that title."""
    return keys("tab", window=title), keys("enter", window=title)


def _posted(seen: SceneOutcome) -> SiteRequest | None:
    """The last form that a page posted."""
    return next((each for each in reversed(seen.requests) if each.method == "POST" and each.by_browser), None)


def _downloaded(seen: SceneOutcome, path: str, *files: tuple[str, SitePage]) -> str:
    """The first thing wrong where the browser should have saved files unchanged; empty: nothing."""
    for name, saved in files:
        if not any(each.path == f"/{name}" and each.by_browser for each in seen.requests):
            return f"the browser has not asked for {name}"
        found = seen.files.get(f"Downloads/{name}")
        if found is None or found.data != saved.data:
            return f"Downloads/{name} is not what the site has"
    kept = {**README, **{f"Downloads/{name}": File(saved.data) for name, saved in files}}
    return expect(seen, kept, ignoring=lambda each: each == path)


def read_price(rng: random.Random, level: int) -> ComputerScene:
    """A page behind a link says it."""
    prices = {fruit: rng.randint(100, 999) for fruit in pick(rng, FRUITS, 2 + level)}
    fruit = rng.choice(list(prices))
    rows = "".join(f"<tr><td>{name}<td>{price}" for name, price in prices.items())
    site = {"/": page("Shop", "<a href=/prices>Prices</a>"), "/prices": page("Prices", f"<table>{rows}</table>")}

    def goal(seen: SceneOutcome) -> str:
        if not any(each.path == "/prices" and each.by_browser for each in seen.requests):
            return "the prices were not opened"
        return "" if (seen.answer or "").strip().rstrip(".") == str(prices[fruit]) else "the answer is not the price"

    return ComputerScene(
        f"What does {fruit} cost in the shop? Answer with the number.", README, goal,
        (*_press("Shop"), keys("home", window="Prices")), answer=str(prices[fruit]), opens=_OPENS, site=site,
    )  # fmt: skip


def download_file(rng: random.Random, level: int) -> ComputerScene:
    """A file is downloaded, of several."""
    names = [f"{color}.csv" for color in pick(rng, COLORS, 1 + level)]
    site = {f"/{name}": SitePage(f"{sentence(rng, FRUITS, 5)}\n".encode(), "text/csv", name) for name in names}
    links = "".join(f"<p><a href=/{name}>{name}</a>" for name in names)
    place = rng.randrange(len(names))
    wanted = names[place]
    return ComputerScene(
        f"Download {wanted} in the browser.", README,
        lambda seen: _downloaded(seen, "", (wanted, site[f"/{wanted}"])),
        (*(keys("tab", window="Files") for _ in range(place + 1)), ENTER), opens=_OPENS,
        site={"/": page("Files", links), **site},
    )  # fmt: skip


def _form(fields: str) -> SitePage:
    return page("Order", f"<form method=post action=/order{fields}<p><button>Send</button></form>")


def fill_form(rng: random.Random, level: int) -> ComputerScene:
    """A form is filled in and sent."""
    fruit, count = rng.choice(FRUITS), str(rng.randint(2, 99))
    fields = ">Fruit <input name=fruit autofocus><p>Count <input name=count>"

    def goal(seen: SceneOutcome) -> str:
        posted = _posted(seen)
        if posted is None or posted.fields() != {"fruit": fruit, "count": count}:
            return "that order was not sent"
        return expect(seen, README)

    return ComputerScene(
        f"Order {count} of {fruit} with the form in the browser.", README, goal,
        (write(fruit, "Order"), _TAB, write(count), ENTER), opens=_OPENS, site={"/": _form(fields), "/thanks": _THANKS},
    )  # fmt: skip


def submit_count(rng: random.Random, level: int) -> ComputerScene:
    """A number that a shell counts is sent with a form."""
    word, *others = pick(rng, FRUITS, 4)
    lines = [rng.choice([word, *others]) for _ in range(10 * level)]
    files, count = {"list.txt": File(("\n".join(lines) + "\n").encode())}, str(lines.count(word))

    def goal(seen: SceneOutcome) -> str:
        posted = _posted(seen)
        if posted is None or posted.fields() != {"count": count}:
            return "the number of lines was not sent"
        return expect(seen, files)

    return ComputerScene(
        f"Send the number of lines of list.txt that say {word} with the form in the browser.", files, goal,
        (f"grep -cx {word} list.txt", write(count, "Order"), ENTER), opens=_OPENS,
        site={"/": _form(">Count <input name=count autofocus>"), "/thanks": _THANKS},
    )  # fmt: skip


def download_and_sum(rng: random.Random, level: int) -> ComputerScene:
    """A table is downloaded, and a column of it summed up."""
    counts = [rng.randint(1, 99) for _ in range(4 * level)]
    table = SitePage(
        ("fruit,count\n" + "".join(f"{rng.choice(FRUITS)},{n}\n" for n in counts)).encode(), "text/csv", "s.csv"
    )

    def goal(seen: SceneOutcome) -> str:
        if wrong := _downloaded(seen, "total.txt", ("s.csv", table)):
            return wrong
        found = seen.files.get("total.txt")
        return "" if found is not None and found.text.strip() == str(sum(counts)) else "total.txt does not say the sum"

    command = _until("Downloads/s.csv") + "awk -F, '{ s += $2 } END { print s }' Downloads/s.csv > total.txt"
    return ComputerScene(
        "Download s.csv in the browser, and write the sum of its column count to total.txt.", README, goal,
        (*_press("Files"), command), opens=_OPENS,
        site={"/": page("Files", "<a href=/s.csv>s.csv</a>"), "/s.csv": table},
    )  # fmt: skip


def merge_downloads(rng: random.Random, level: int) -> ComputerScene:
    """Two lists are downloaded and become one."""
    lists = {name: pick(rng, FRUITS, 2 + level) for name in ("one.csv", "two.csv")}
    site = {f"/{name}": SitePage(("\n".join(words) + "\n").encode(), "text/csv", name) for name, words in lists.items()}
    merged = sorted({word for words in lists.values() for word in words})

    def goal(seen: SceneOutcome) -> str:
        if wrong := _downloaded(seen, "all.txt", *((path[1:], saved) for path, saved in site.items())):
            return wrong
        found = seen.files.get("all.txt")
        return "" if found is not None and found.text.split() == merged else "all.txt is not the sorted list"

    links = "".join(f"<p><a href={path}>{path[1:]}</a>" for path in site)
    command = "".join(_until(f"Downloads/{name}") for name in lists) + "sort -u Downloads/*.csv > all.txt"
    return ComputerScene(
        "Download both lists in the browser, and write their words to all.txt, sorted by the alphabet, each word once.",
        README, goal, (*_press("Files"), keys("tab", window="Files"), ENTER, command), opens=_OPENS,
        site={"/": page("Files", links), **site},
    )  # fmt: skip


def run_download(rng: random.Random, level: int) -> ComputerScene:
    """A script is downloaded and run."""
    said = " ".join(f"{rng.choice(FRUITS)}{rng.randint(10, 99)}" for _ in range(1 + level))
    script = SitePage(f"echo {said}\n".encode(), "text/plain", "say.txt")

    def goal(seen: SceneOutcome) -> str:
        if wrong := _downloaded(seen, "said.txt", ("say.txt", script)):
            return wrong
        found = seen.files.get("said.txt")
        return "" if found is not None and found.text.strip() == said else "said.txt does not hold what say.txt says"

    return ComputerScene(
        "Download say.txt in the browser, run it with sh, and write what it says to said.txt.", README, goal,
        (*_press("Files"), _until("Downloads/say.txt") + "sh Downloads/say.txt > said.txt"), opens=_OPENS,
        site={"/": page("Files", "<a href=/say.txt>say.txt</a>"), "/say.txt": script},
    )  # fmt: skip


def read_picture(rng: random.Random, level: int) -> ComputerScene:
    """A word in a picture of the browser goes into a file: it has to be looked at."""
    words = " ".join(pick(rng, FRUITS, min(level, 2)))
    site = {"/": page("Picture", "<img src=/picture.png>"), "/picture.png": picture(words)}
    return ComputerScene(
        "Write the words of the picture in the browser to words.txt.", README,
        lambda seen: expect_text(seen, README, "words.txt", words), (f"echo '{words}' > words.txt",), opens=_OPENS,
        site=site,
    )  # fmt: skip


def show_page(rng: random.Random, level: int) -> ComputerScene:
    """A page is written, and shown in the browser."""
    title, name = sentence(rng, FRUITS, 1 + level), f"{rng.choice(COLORS)}.html"

    def goal(seen: SceneOutcome) -> str:
        if f"<title>{title}</title>" not in getattr(seen.files.get(name), "text", ""):
            return f"{name} does not have the title"
        wrong = expect(seen, README, ignoring=lambda path: path == name)
        return wrong or ("" if seen.shows("chrom", title) else "the browser does not show it")

    return ComputerScene(
        f"Write a page {name} with <title>{title}</title>, and show it in the browser.", README, goal,
        (f"echo '<title>{title}</title>' > {name}", keys("ctrl", "l", window="Chromium"),
         write(f"file://{HOME}/{name}\n")), opens=_OPENS, site={"/": page("Empty", "")},
    )  # fmt: skip


def _until(path: str) -> str:
    return f"for i in $(seq 50); do [ -e {path} ] && break; sleep .1; done; "


BROWSER_TASKS: dict[str, MakeScene] = {make.__name__: make for make in (read_price, download_file, fill_form)}
BROWSER_AND_SHELL_TASKS: dict[str, MakeScene] = {
    make.__name__: make
    for make in (
        submit_count, download_and_sum, merge_downloads, run_download, read_picture, show_page,
    )
}  # fmt: skip
