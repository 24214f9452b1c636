"""Storage of a page, as another page can be given it: cookies, local storage and, where that is safe, databases.

Playwright reads databases into its driver, the one process that all browsers depend on. A value that contains itself
ends that process (an uncaught error of its JSON), a value of gigabytes would, and what a database holds is the page's
choice. So they are looked at first, in a world of their own that no script of the page has touched.
"""

from __future__ import annotations

from typing import Any

from playwright.async_api import BrowserContext

from tars_jax.sandbox.browser.connection import DevToolsSession, ProtocolError

LARGEST = 16 << 20  # characters of JSON
PATIENCE_MS = 2000  # real; an open upgrade of the page's own holds every reader back
LOOK = f"""(() => {{
  const done = (request) => new Promise((resolve, reject) => {{
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  }});
  async function size() {{
    let total = 0;
    for (const {{ name }} of await indexedDB.databases()) {{
      const database = await done(indexedDB.open(name));
      try {{
        for (const store of database.objectStoreNames) {{
          const values = await done(database.transaction(store).objectStore(store).getAll());
          total += JSON.stringify(values, (key, value) => (typeof value === 'bigint' ? 0 : value)).length;
        }}
      }} finally {{
        database.close();
      }}
    }}
    return total;
  }}
  const late = new Promise((resolve) => {{ setTimeout(resolve, {PATIENCE_MS}, Infinity); }});
  return Promise.race([size(), late]).then((total) => total < {LARGEST}, () => false);
}})()"""


async def storage_of(
    context: BrowserContext, session: DevToolsSession, frame: str, *, databases: bool
) -> dict[str, Any]:
    """The storage of a page as Playwright writes it. `databases`: those too, where they are of one origin, small, and
    can be written."""
    databases = databases and await _can_be_written(session, frame)
    return dict(await context.storage_state(indexed_db=databases))


async def _can_be_written(session: DevToolsSession, frame: str) -> bool:
    try:
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "storage"})
        answer = await session.send(
            "Runtime.evaluate",
            {
                "expression": LOOK, "contextId": world["executionContextId"],
                "awaitPromise": True, "returnByValue": True,
            },
        )  # fmt: skip
    except ProtocolError:  # the document went meanwhile
        return False
    return answer["result"].get("value") is True
