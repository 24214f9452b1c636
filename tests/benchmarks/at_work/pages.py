"""The web pages of stories_browser.py: small, without a server, all in their address."""

# ruff: noqa: E501  - pages as they are sent
from __future__ import annotations

import urllib.parse

STYLE = """<style>
body { font: 16px sans-serif; margin: 24px 40px; color: #222 } input, button, textarea, select { font: inherit; padding: 5px 10px }
.row { border: 1px solid #ccd; border-radius: 8px; padding: 14px; margin: 10px 0; display: flex; gap: 16px; align-items: center }
.scrolls { height: 330px; overflow: auto } a { color: #0645ad; cursor: pointer } .subject { flex: 1; user-select: none; cursor: grab }
[hidden] { display: none !important }
</style>"""


def _page(title: str, body: str) -> str:
    return "data:text/html;charset=utf-8," + urllib.parse.quote(f"<!doctype html><title>{title}</title>{STYLE}{body}")


_SHOES = "".join(
    f'<div class="row" id="item-{number}"><b>{name} runner</b> <span>{price} euros</span> '
    f"<a onclick=\"show('details')\">details</a></div>"
    for number, (name, price) in enumerate(
        [("Red", 80), ("Gray", 95), ("Blue", 110), ("Green", 70), ("Black", 99), ("White", 60), ("Trail", 130)]
    )
)
SHOP = _page(
    "Sports store",
    f"""<h1>Sports store</h1><form onsubmit="show('results'); return false"><input id=search size=30 placeholder=Search></form>
<div id=results class=scrolls hidden>{_SHOES}</div>
<div id=details hidden><h2>Blue runner</h2><p><button id=size-42>42</button> <button id=size-43>43</button> <button>44</button></p>
<p>Pairs <input id=count value=1 size=3></p><p><label><input type=checkbox id=express> Express delivery</label></p>
<p><button id=add onclick="document.getElementById('basket').hidden = false">Add to the basket</button></p></div>
<div id=basket hidden><h3>Basket</h3><p>2 blue runners <input id=coupon placeholder=Coupon>
<button id=apply onclick="this.nextSibling.textContent = ' 10% off'">Apply</button><span></span></p></div>
<script>function show(id) {{ for (const each of ['results', 'details']) document.getElementById(each).hidden = each != id }}</script>""",
)
_FILLER = "".join(
    f"<p>The coast has been known for its fogs since sailors wrote of it, and ships of many countries were lost here in the winter "
    f"of {1800 + 7 * number}, when storms came from the west for weeks.</p>"
    for number in range(8)
)
ARTICLE = _page(
    "The lighthouse of Westerhever - Encyclopedia",
    f"""<div style="display:flex; gap:30px"><div id=text style="flex:1"><h1>The lighthouse</h1><p>See also:
<a id=keeper href="#keeper" onclick="document.title='A keeper'">the keeper</a>, <a id=history href="#history">history</a></p>{_FILLER}
<p id=fact>The tower was built in 1891 by a company from the south, and is painted red and white to this day.</p>{_FILLER}</div>
<textarea id=notes style="width:260px;height:160px;position:sticky;top:20px">Notes: </textarea></div>""",
)
_TRAINS = "".join(
    f'<div class="row" id="train-{number}"><b>{when}</b> <span>{how}</span> <button>Take it</button></div>'
    for number, (when, how) in enumerate(
        [
            ("18:10", "4 changes"),
            ("19:55", "3 changes"),
            ("21:20", "2 changes"),
            ("23:58", "1 change"),
            ("0:40", "5 changes"),
        ]
    )
)
TIMETABLE = _page(
    "Night trains",
    f"""<h1>Night trains</h1><p>From <input id=from> to <input id=to></p>
<p><label><input type=checkbox id=night> Night trains only</label> <label><input type=radio name=class> First class</label>
<label><input type=radio name=class id=second> Second class</label></p><p>Leaves at <input type=range id=time style="width:300px"></p>
<p><button id=show onclick="setTimeout(() => document.getElementById('found').hidden = false, 600)">Show connections</button></p>
<div id=found hidden><div id=trains class=scrolls style="height:180px">{_TRAINS}</div><p>A wish <input id=wish size=40>
<button id=reserve onclick="this.textContent = 'Number 4711'">Reserve</button></p></div>""",
)
_MAILS = "".join(
    f'<div class="row" id="mail-{number}" draggable=true><input type=checkbox id="tick-{number}"><b>{who}</b>'
    f"<span class=subject onclick=\"document.getElementById('open').hidden = false\">{what}</span></div>"
    for number, (who, what) in enumerate(
        [("Post", "Your parcel is on its way"), ("Clara", "Thursday?"), ("Megastore", "Everything must go"),
         ("Garage", "Invoice for the brakes"), ("Lottery", "You are a winner"), ("Library", "A book is due")]
    )
)  # fmt: skip
MAIL = _page(
    "Letters",
    f"""<div style="display:flex; gap:24px"><div style="width:130px"><p><a id=inbox>Inbox</a></p><p><a id=archive>Archive</a></p>
<p id=taxes ondragover="event.preventDefault()" ondrop="this.textContent='Taxes (1)'">Taxes</p></div>
<div style="flex:1"><button id=trash onclick="document.querySelectorAll('.row :checked').forEach((each) => each.parentNode.hidden = true)">
Move to trash</button><div id=list class=scrolls style="height:250px">{_MAILS}</div>
<div id=open hidden><p>Dear all, shall we meet on Thursday at ten? Clara</p><p>
<button id=reply onclick="const box = document.getElementById('answer'); box.hidden = false; box.focus()">Reply</button></p>
<textarea id=answer hidden rows=4 cols=60></textarea><p><button id=send>Send</button></p></div></div></div>""",
)
