"""A page as one file. It loads nothing from elsewhere and runs no script; a policy in it makes sure of both."""

from __future__ import annotations

import html
from pathlib import Path

import tars_jax


def page_html(title: str, subtitle: str, main: str) -> str:
    """The page around `main`, which is HTML; title and subtitle are text."""
    style = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    below = f'<p class="subtitle">{html.escape(subtitle)}</p>' if subtitle else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{html.escape(title)}</h1>{below}</header>
<main>
{main}
</main>
<footer>Made by tars_jax {tars_jax.__version__}. This page is one file and loads nothing.</footer>
</body>
</html>
"""
