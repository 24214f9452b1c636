"""MailDev: a mailbox whose mails are files. What it has in memory is another copy: a reset starts it anew."""

from __future__ import annotations

import random
from typing import Any

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Rest, Row, Website

_SUBJECTS = ("Invoice {n} from {shop}", "Your order {n} has left {shop}", "Password for {shop}", "News from {shop}",
    "{shop}: please confirm {n}", "Reminder: {shop} visit")  # fmt: skip


def _content(rng: random.Random) -> Content:
    mails = []
    for shop, number in zip(words.pick(rng, words.SHOPS, 9), rng.sample(range(1000, 10000), 9), strict=True):
        sender, receiver = words.pick(rng, words.PEOPLE, 2)
        mails.append(
            {
                "id": f"mail{number}",
                "from": f"{sender} <{words.login_of(sender)}@{rng.choice(('shop', 'post', 'desk'))}.example.org>",
                "to": f"{receiver} <{words.login_of(receiver)}@example.org>",
                "subject": rng.choice(_SUBJECTS).format(n=rng.randint(1000, 9999), shop=shop),
                "date": f"{rng.randint(1, 28):02} {rng.choice(('Jan', 'Mar', 'Jun', 'Oct'))} 2025 "
                f"{rng.randint(7, 18):02}:{rng.randint(0, 59):02}:00 +0000",
                "text": words.paragraph(rng, 3),
            }
        )
    return {"mails": mails}


def _address(people: Any) -> str:
    return ", ".join(each.get("address", "") for each in people or ())


def _mails(answer: Any) -> list[Row]:
    rows = [
        {
            "subject": mail["subject"],
            "sender": _address(mail["from"]),
            "receiver": _address(mail["to"]),
            "text": mail.get("text") or "",
            "id": mail["id"],  # a mail that is sent again is another one
            "time": mail.get("time") or "",
        }
        for mail in answer
    ]
    return sorted(rows, key=lambda row: (row["subject"], row["sender"], row["id"]))


SITE = Website(
    "maildev",
    version="3.0.0",
    license="MIT",
    package="npm:maildev",
    title="MailDev",
    port=8009,
    prepare=("{python}", "{programs}/maildev_prepare.py"),
    serve=(
        "node", "{root}/node_modules/maildev/dist/bin/maildev.js", "--web", "{port}", "--web-ip", "127.0.0.1",
        "--ip", "127.0.0.1", "--smtp", "8025", "--mail-directory", "{state}/mails", "--silent",
    ),
    content=_content,
    health="/api/healthz",
    readers={"mails": Rest("/api/email", _mails)},
    restarts=True,
)  # fmt: skip
