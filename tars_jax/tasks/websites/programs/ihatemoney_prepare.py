"""Makes the project `trip` of I Hate Money by its own interface for programs (content on stdin)."""

import base64
import json
import os
import pathlib
import sys
from typing import Any

content = json.load(sys.stdin)
pathlib.Path("settings.cfg").write_text(
    f"SQLALCHEMY_DATABASE_URI = 'sqlite:///{os.getcwd()}/ihatemoney.db'\nSECRET_KEY = 'one computer, one user'\n"
    "SESSION_COOKIE_SECURE = False\nACTIVATE_DEMO_PROJECT = False\n"
    "MAIL_SUPPRESS_SEND = True\nRATELIMIT_ENABLED = False\n"
)
from ihatemoney.run import create_app  # noqa: E402  it reads the settings

client = create_app().test_client()
word = base64.b64encode(b"trip:trip").decode()


def post(path: str, fields: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    answer = client.post(f"/api/projects{path}", data=fields, headers=headers)
    if answer.status_code != 201:
        sys.exit(f"{path} was answered with {answer.status_code}: {answer.text}")
    return answer.get_json()


project = {
    "name": "Trip",
    "id": "trip",
    "password": "trip",
    "contact_email": "anna@localhost.org",
    "default_currency": "XXX",
}
post("", project)
own = {"Authorization": f"Basic {word}"}
members = {name: post("/trip/members", {"name": name}, own) for name in content["members"]}
for bill in content["bills"]:
    fields = {
        "date": bill["date"],
        "what": bill["what"],
        "payer": members[bill["payer"]],
        "amount": bill["amount"],
        "payed_for": [members[name] for name in bill["owers"]],
        "bill_type": "Expense",
        "original_currency": "XXX",
    }
    post("/trip/bills", fields, own)
