"""Jupyter's page for a session in a real Chromium: a notebook whose kernel runs inside."""

from __future__ import annotations

import json
import subprocess

import pytest
from playwright.async_api import Page, expect

from tests.sandbox.service.chromium import on_a_page
from tests.sandbox.service.conftest import Service

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess, pytest.mark.slow]
CELL = "import os\nopen('made.txt', 'w').write('by a cell')\nprint('plum', 6 * 7, os.getcwd())"
NOTEBOOK = {
    "cells": [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": CELL}],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 4,
}


def installed() -> bool:
    find = "import notebook.notebookapp, ipykernel"
    return subprocess.run(["/usr/bin/python3", "-c", find], capture_output=True).returncode == 0


@pytest.mark.full
def test_a_notebook_runs_inside(previews: Service) -> None:
    if not installed():
        pytest.skip("the notebook is not installed for /usr/bin/python3: apt-get install python3-notebook")
    session = previews.lease(lease_seconds=3600, memory_mib=1024)
    previews.call(session, "write", path="plüm.ipynb", data=json.dumps(NOTEBOOK))

    async def use(page: Page) -> None:
        await page.goto(f"{previews.address}/s/{session['id']}/jupyter/?token={session['token']}", timeout=150_000)
        await expect(page.get_by_text("plüm.ipynb")).to_be_visible()
        await page.goto(page.url.partition("/jupyter/")[0] + "/jupyter/notebooks/pl%C3%BCm.ipynb")
        await expect(page.locator("#kernel_indicator_icon.kernel_idle_icon")).to_be_visible()
        await page.locator(".cell .CodeMirror").first.click()
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".output_area").first).to_contain_text("plum 42 /home/agent")

    on_a_page(use)
    assert previews.call(session, "read", path="made.txt")["data"] == "by a cell"
    assert "jupyter" not in previews.call(session, "run", command="ls -A")["output"]
    previews.http.delete(f"/v1/sessions/{session['id']}")


def test_without_jupyter_the_page_says_what_to_install(previews: Service) -> None:
    if installed():
        pytest.skip("the notebook is installed")
    session = previews.lease()
    answer = previews.http.get(f"/s/{session['id']}/jupyter/")
    assert answer.status_code == 501 and "python3-notebook" in answer.json()["error"]["message"]
    previews.http.delete(f"/v1/sessions/{session['id']}")
