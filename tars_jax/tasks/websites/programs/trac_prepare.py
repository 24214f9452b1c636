"""Makes a Trac environment in env/ and fills it (content on stdin)."""

import contextlib
import json
import os
import sys

from trac.admin.console import TracAdmin
from trac.env import Environment
from trac.ticket.model import Component, Milestone, Ticket
from trac.wiki.model import WikiPage

content = json.load(sys.stdin)
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    console = TracAdmin(os.path.abspath("env"))
    console.onecmd(f'initenv "{content["project"]}" sqlite:db/trac.db')
    console.onecmd("permission add anna TRAC_ADMIN")
env = Environment("env")
for section, name, value in (
    ("trac", "base_url", "http://localhost:8002"),
    ("logging", "log_type", "none"),
    ("header_logo", "src", ""),
    ("header_logo", "alt", content["project"]),
):
    env.config.set(section, name, value)
env.config.save()
for each in list(Component.select(env)):
    each.delete()
for each in list(Milestone.select(env)):
    each.delete()
for name in content["components"]:
    component = Component(env)
    component.name, component.owner = name, "anna"
    component.insert()
for name in content["milestones"]:
    milestone = Milestone(env)
    milestone.name = name
    milestone.insert()
for each in content["tickets"]:
    ticket = Ticket(env)
    for field in (
        "summary",
        "type",
        "priority",
        "component",
        "milestone",
        "owner",
        "reporter",
        "keywords",
        "description",
    ):
        ticket[field] = each[field]
    ticket["status"], ticket["resolution"] = ("closed", "fixed") if each["closed"] else ("new", "")
    ticket.insert()
start = "".join(f" * [wiki:{each['name']}]\n" for each in content["wiki"])
for each in [*content["wiki"], {"name": "WikiStart", "text": f"= {content['project']} =\n\n{start}"}]:
    page = WikiPage(env, each["name"])
    page.text = each["text"]
    page.save("anna", "")
