"""A notebook that a script draws: cards with buttons that show when pointed at, and an editor that asks once more."""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.data.website_synthesis.local_site import Answer, LocalSite

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


class DrawnSite(LocalSite):
    def __init__(self) -> None:
        self.state = copy.deepcopy(SEED)
        super().__init__()

    def get(self, path: str) -> Answer:
        data = self.state.get(path.strip("/"))
        pages = {"/": CARDS, "/write": EDITOR}
        return Answer(json.dumps(data) if data is not None else pages.get(path, "no such page"))

    def post(self, path: str, body: str) -> Answer:
        """Puts a row into its table."""
        what = json.loads(body)
        if "page" in what:
            self.state["page"] = [what["page"]]
        else:
            note = {"id": len(self.state["notes"]) + 1, **what["note"]}
            self.state["notes"] = [each for each in self.state["notes"] if each["id"] != note["id"]] + [note]
        return Answer("{}")

    async def reset(self) -> None:
        self.state = copy.deepcopy(SEED)

    async def snapshot(self) -> dict[str, Any]:
        return copy.deepcopy(self.state)
