"""Links of an entity's page: to the entities of a relation, and to the first of them by a number.

Only what the page itself links counts: who answers gets from one page to the next.
"""

from __future__ import annotations

from tars_jax.tasks.browsing.encyclopedia import Encyclopedia

MOST_LINKED = 12  # of one relation: who answers has to look each of them up
CITIES = "cities"
RELATIONS: dict[str, tuple[str, ...]] = {  # with the numbers by which several are compared
    "capital": (), "country": (), "found in": (), "mentions": (),
    "borders": ("area", "population", "coastline", "median age"),
    "produced in": ("area", "population", "median age"),
    CITIES: ("latitude",),
}  # fmt: skip
ROUND = frozenset({("capital", "country"), (CITIES, "country")})  # relations of which the second leads back


class ArticleLinks:
    def __init__(self, encyclopedia: Encyclopedia) -> None:
        self._articles = encyclopedia.articles
        self._cities: dict[str, list[str]] = {}
        for city in encyclopedia.of_kind("city"):
            for country in city.values("country"):
                self._cities.setdefault(str(country), []).append(city.title)
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}
        self._tables: dict[tuple[str, str, bool], dict[str, tuple[str, ...]]] = {}

    def of(self, title: str, relation: str) -> tuple[str, ...]:
        """Titles of the other articles to which it leads."""
        if (title, relation) not in self._known:
            article = self._articles[title]
            linked = self._cities.get(title, ()) if relation == CITIES else map(str, article.values(relation))
            shown = frozenset(article.links) - {title}
            self._known[title, relation] = tuple(
                dict.fromkeys(each for each in linked if each in self._articles and each in shown)
            )
        return self._known[title, relation]

    def table(self, relation: str, by: str, largest: bool) -> dict[str, tuple[str, ...]]:
        """Title -> where a hop leads from there, of all articles from which it leads somewhere; by a number, to all
        that share the largest or the least that is known."""
        key = relation, by, largest
        if key not in self._tables:
            every = ((title, self.of(title, relation)) for title in self._articles)
            chosen = ((title, self._first(found, by, largest) if by else found) for title, found in every if found)
            self._tables[key] = {title: found for title, found in chosen if found}
        return self._tables[key]

    def can_be_looked_up(self, title: str, relation: str, by: str) -> bool:
        """Whether those among which a hop chooses are few, and by a number two or more that all have it."""
        found = self.of(title, relation)
        if len(found) > MOST_LINKED:
            return False
        return not by or (len(found) > 1 and all(len(self._articles[each].values(by)) == 1 for each in found))

    def _first(self, candidates: tuple[str, ...], by: str, largest: bool) -> tuple[str, ...]:
        numbers = {each: float(values[0]) for each in candidates if len(values := self._articles[each].values(by)) == 1}
        best = (max if largest else min)(numbers.values(), default=None)
        return tuple(each for each, number in numbers.items() if number == best)
