"""Makes a Roundup tracker in tracker/ and fills it: roundup_prepare.py ROOT  (content on stdin)"""

import json
import os
import sys

from roundup import init, instance, password
from roundup.configuration import CoreConfig

content = json.load(sys.stdin)
template = f"{sys.argv[1]}/share/roundup/templates/classic"
os.environ["PWD"] = os.getcwd()
init.install("tracker", template, {})
config = CoreConfig("tracker", settings={})
config["TRACKER_WEB"] = "http://localhost:8003/"
config["TRACKER_NAME"] = "Help desk"
config["MAIL_DOMAIN"] = "localhost"
config["MAIL_HOST"] = "localhost"
config["MAIL_DEBUG"] = os.path.abspath("tracker/mail.log")
config["RDBMS_BACKEND"] = "sqlite"
config["INDEXER"] = "native"
config.save()
tracker = instance.open("tracker")
tracker.init(password.Password("admin", config=config))
db = tracker.open("admin")
for each in [*content["users"], {"username": "anna", "realname": "Anna Lindqvist"}]:
    roles = "Admin,User" if each["username"] == "anna" else "User"
    db.user.create(
        **each,
        roles=roles,
        address=f"{each['username']}@localhost",
        password=password.Password(each["username"], config=config),
    )
for name in content["keywords"]:
    db.keyword.create(name=name)
db.commit()
for each in content["issues"]:
    message = db.msg.create(
        author=db.user.lookup("anna"), summary=each["message"].split(".")[0], content=each["message"]
    )
    db.issue.create(
        title=each["title"],
        priority=db.priority.lookup(each["priority"]),
        status=db.status.lookup(each["status"]),
        assignedto=db.user.lookup(each["assignedto"]),
        keyword=[db.keyword.lookup(each["keyword"])],
        messages=[message],
    )
db.commit()
db.close()
