"""Writes the mails of a mailbox as files (content on stdin)."""

import json
import os
import pathlib
import sys

folder = pathlib.Path("mails")
folder.mkdir()
for number, mail in enumerate(json.load(sys.stdin)["mails"]):
    headers = {
        "From": mail["from"],
        "To": mail["to"],
        "Subject": mail["subject"],
        "Date": mail["date"],
        "Message-ID": f"<{mail['id']}@example.org>",
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
    }
    file = folder / f"{mail['id']}.eml"
    file.write_bytes(
        "\r\n".join([*(f"{name}: {value}" for name, value in headers.items()), "", mail["text"], ""]).encode()
    )
    os.utime(file, (1_700_000_000 + number,) * 2)  # the order in which they are read
