"""A notebook that a script draws: cards with buttons that show when pointed at, and an editor that asks once more."""

from __future__ import annotations

import copy
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tars_jax.data.website_synthesis.addresses import AddressPage, AddressSite
from tars_jax.sandbox.browser import BrowserManager

SEED: dict[str, Any] = {
    "notes": [
        {"id": 1, "title": "Alder", "text": "old one", "color": "#111111"},
        {"id": 2, "title": "Birch", "text": "old two", "color": "#222222"},
    ],
    "page": [{"id": 1, "body": "first", "message": ""}],
}
CARDS = """<!doctype html><title>Notebook</title>
<style>
  ul { visibility: hidden } article:hover ul { visibility: visible }
  .away { position: fixed; top: -400px }
</style>
<main></main><nav><a href="/write">Write</a></nav>
<div class=away><input aria-label=Nowhere><button>Create nowhere</button></div>
<script>
const main = document.querySelector('main');
const send = (what) => fetch('/', { method: 'POST', body: JSON.stringify(what) }).then(draw);
function form(note) {
  main.innerHTML = `<h1>One note</h1><form><p><label>Title* <input></label>
    <p>Text <iframe></iframe></p><button>Save</button></form>`;
  const frame = main.querySelector('iframe').contentDocument, title = main.querySelector('input');
  frame.body.innerHTML = '<textarea></textarea>';
  const text = frame.querySelector('textarea');
  title.value = note.title; text.value = note.text;
  const color = note.color ?? '#' + Math.floor(Math.random() * 0xffffff).toString(16);
  main.querySelector('form').onsubmit = (event) => {
    event.preventDefault();
    setTimeout(() => send({ note: { ...note, title: title.value, text: text.value, color } }), 2000);
  };
}
async function draw() {
  const notes = await (await fetch('/notes')).json();
  main.innerHTML = '<h1>All notes</h1><a href="" class=new>New note</a>' + notes.map(({ title }) =>
    `<article><h3>${title}</h3><ul><li><a href="" class=edit title=Edit>&#9998;</a></li></ul></article>`).join('');
  const on = (element, note) => { element.onclick = (event) => { event.preventDefault(); form(note); }; };
  on(main.querySelector('.new'), { title: '', text: '' });
  main.querySelectorAll('.edit').forEach((each, index) => on(each, notes[index]));
}
draw();
</script>"""
EDITOR = """<!doctype html><title>Write</title>
<style>dialog { display: block; position: fixed; top: -300px } dialog.shown { top: 100px }</style>
<h1>Front page</h1>
<section><h2>Body*</h2><div><div><i aria-hidden=true>1 2 3</i><p contenteditable=true></p></div></div></section>
<button class=save>Save</button>
<dialog><form><label>Message <input></label><button>Save</button></form></dialog>
<script>
const [editor, dialog] = [document.querySelector('[contenteditable]'), document.querySelector('dialog')];
fetch('/page').then((answer) => answer.json()).then(([{ body }]) => { editor.innerText = body; });
document.querySelector('.save').onclick = () => dialog.classList.add('shown');
dialog.querySelector('form').onsubmit = (event) => {
  event.preventDefault();
  const what = { page: { id: 1, body: editor.innerText, message: dialog.querySelector('input').value } };
  fetch('/', { method: 'POST', body: JSON.stringify(what) });
};
</script>"""


class DrawnSite:
    """Satisfies the interface of a site that tasks are made for."""

    def __init__(self) -> None:
        self.state = copy.deepcopy(SEED)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    async def open_page(self, browsers: BrowserManager, size: tuple[int, int]) -> AddressPage:
        return await AddressSite(self.url).open_page(browsers, size)

    async def reset(self) -> None:
        self.state = copy.deepcopy(SEED)

    async def snapshot(self) -> dict[str, Any]:
        return copy.deepcopy(self.state)

    def change(self, what: dict[str, dict[str, Any]]) -> None:
        """Puts a row into its table."""
        if "page" in what:
            self.state["page"] = [what["page"]]
        else:
            note = {"id": len(self.state["notes"]) + 1, **what["note"]}
            self.state["notes"] = [each for each in self.state["notes"] if each["id"] != note["id"]] + [note]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(site: DrawnSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = site.state.get(self.path.strip("/"))
            pages = {"/": CARDS, "/write": EDITOR}
            self._answer(json.dumps(data) if data is not None else pages.get(self.path, "no such page"))

        def do_POST(self) -> None:
            site.change(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer("{}")

        def _answer(self, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
