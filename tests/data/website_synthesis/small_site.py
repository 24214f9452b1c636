"""A tracker of orders, small and real: a server with state, for tests of what works on websites."""

from __future__ import annotations

import copy
import html
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.data.website_synthesis.local_site import Answer, LocalSite

SEED: dict[str, Any] = {
    "orders": [
        {"id": 1, "customer": "Ada", "item": "Lamp", "priority": "low", "paid": False, "note": ""},
        {"id": 2, "customer": "Björn", "item": "Desk", "priority": "high", "paid": True, "note": "fragile"},
        {"id": 3, "customer": "Chen", "item": "Chair", "priority": "low", "paid": False, "note": ""},
    ],
    "settings": {"title": "Orders", "currency": "eur", "archive": False},
}
PRIORITIES = ("low", "normal", "high")


class SmallSite(LocalSite):
    """`forgets`: a reset leaves the settings as they are."""

    def __init__(self, *, forgets: bool = False) -> None:
        self.state = copy.deepcopy(SEED)
        self._forgets = forgets
        super().__init__()

    def get(self, path: str) -> Answer:
        parts = urlsplit(path)
        found = page(self.state, parts.path, parse_qs(parts.query))
        return Answer(_document(self.state, found or "<h1>No such page</h1>"), 200 if found else 404)

    def post(self, path: str, body: str) -> Answer:
        sent = parse_qs(body, True)
        return Answer(status=303, location=submit(self.state, path, {name: each[-1] for name, each in sent.items()}))

    async def reset(self) -> None:
        kept = self.state["settings"] if self._forgets else None
        self.state = copy.deepcopy(SEED)
        if kept is not None:
            self.state["settings"] = kept

    async def snapshot(self) -> dict[str, Any]:
        return copy.deepcopy(self.state)


def page(state: Mapping[str, Any], path: str, query: Mapping[str, list[str]]) -> str | None:
    """The body of a page; None where there is none."""
    if path == "/":
        wanted = query.get("q", [""])[0]
        rows = "".join(
            f"<tr><td><a href='/order/{each['id']}'>Order of {html.escape(each['customer'])}</a></td>"
            f"<td>{html.escape(each['item'])}</td><td>{each['priority']}</td></tr>"
            for each in state["orders"]
            if wanted.lower() in each["customer"].lower()
        )
        return (
            "<h1>All orders</h1><form><input name=q placeholder='Find a customer'><button>Find</button></form>"
            f"<table><tr><th>Order</th><th>Item</th><th>Priority</th></tr>{rows}</table>"
        )
    if path == "/new":
        return f"<h1>New order</h1><form method=post action=/new>{_fields({})}<button>Create order</button></form>"
    if path == "/settings":
        settings = state["settings"]
        return (
            "<h1>Settings</h1><form method=post action=/settings>"
            f"<p><label>Title of the site <input name=title value='{html.escape(settings['title'])}'></label></p>"
            f"<p><label>Currency {_select('currency', ('eur', 'usd', 'sek'), settings['currency'])}</label></p>"
            f"<p><label><input type=checkbox name=archive {'checked' if settings['archive'] else ''}> "
            "Archive old orders</label></p><button>Save settings</button></form>"
        )
    if path.startswith("/order/"):
        found = _order(state, path)
        if found is None:
            return None
        return (
            f"<h1>Order of {html.escape(found['customer'])}</h1><form method=post action='{path}'>{_fields(found)}"
            f"<button>Save order</button></form><form method=post action='{path}/delete'>"
            "<button>Delete this order</button></form>"
        )
    return None


def submit(state: dict[str, Any], path: str, sent: Mapping[str, str]) -> str:
    """Changes the state as a form asks; the address to go to."""
    if path == "/new":
        number = max((each["id"] for each in state["orders"]), default=0) + 1
        if sent.get("customer"):
            state["orders"].append({"id": number, **_values(sent)})
        return f"/order/{number}" if sent.get("customer") else "/new"
    if path == "/settings":
        state["settings"] = {
            "title": sent["title"], "currency": sent["currency"], "archive": "archive" in sent,
        }  # fmt: skip
        return "/settings"
    found = _order(state, path)
    if found is None:
        return "/"
    if path.endswith("/delete"):
        state["orders"].remove(found)
        return "/"
    found.update(_values(sent))
    return path


def _order(state: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    number = path.split("/")[2]
    return next((each for each in state["orders"] if str(each["id"]) == number), None)


def _values(sent: Mapping[str, str]) -> dict[str, Any]:
    texts = {name: sent[name] for name in ("customer", "item", "priority", "note")}
    return {**texts, "paid": "paid" in sent, "note": sent["note"].replace("\r\n", "\n")}


def _fields(values: Mapping[str, Any]) -> str:
    return (
        f"<p><label>Customer <input name=customer required value='{html.escape(values.get('customer', ''))}'></label>"
        f"<p><label>Item <input name=item value='{html.escape(values.get('item', ''))}'></label>"
        f"<p><label>Priority {_select('priority', PRIORITIES, values.get('priority', 'normal'))}</label>"
        f"<p><label><input type=checkbox name=paid {'checked' if values.get('paid') else ''}> Paid already</label>"
        f"<p><label>Note <textarea name=note>{html.escape(values.get('note', ''))}</textarea></label>"
    )


def _select(name: str, options: tuple[str, ...], chosen: str) -> str:
    shown = "".join(
        f"<option value={each} {'selected' if each == chosen else ''}>{each.capitalize()}</option>" for each in options
    )
    return f"<select name={name}>{shown}</select>"


def _document(state: Mapping[str, Any], body: str) -> str:
    links = "<a href=/>All orders</a> <a href=/new>New order</a> <a href=/settings>Settings</a>"
    title = html.escape(state["settings"]["title"])
    return f"<!doctype html><title>{title}</title><nav>{links}</nav><main>{body}</main>"
