"""The overview of recent apps: tap a card to go to it, hold it to end its app."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tars_jax.sandbox.phone.stand_in.apps import App
from tars_jax.sandbox.phone.stand_in.screen.layout import Layout


def recent_cards(
    layout: Layout, apps: Sequence[App], open: Callable[[str], None], stop: Callable[[str], None]
) -> None:  # fmt: skip
    """Fills a layout with a card for each app, the latest first."""
    layout.header("Recent apps")
    for app in apps:
        layout.row(f"recent_{app.package}", app.name, app.package, tap=lambda app=app: open(app.package),
                   hold=lambda app=app: stop(app.package))  # fmt: skip
    if not apps:
        layout.label("empty", "   No recent apps", 60)
