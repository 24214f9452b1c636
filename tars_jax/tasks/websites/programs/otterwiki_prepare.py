"""Makes a repository of Markdown pages and settings for An Otter Wiki (content on stdin)."""

import json
import os
import pathlib
import subprocess
import sys

content = json.load(sys.stdin)
wiki = pathlib.Path("wiki").absolute()
wiki.mkdir()
for name, text in content["pages"].items():
    (wiki / f"{name.lower()}.md").write_text(text)
who = {
    "GIT_AUTHOR_NAME": "Anna",
    "GIT_AUTHOR_EMAIL": "anna@localhost",
    "GIT_COMMITTER_NAME": "Anna",
    "GIT_COMMITTER_EMAIL": "anna@localhost",
}
for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "First pages"]):
    subprocess.run(["git", "-C", str(wiki), *command], check=True, env={**os.environ, **who})
pathlib.Path("settings.cfg").write_text(
    f"REPOSITORY = {str(wiki)!r}\nSQLALCHEMY_DATABASE_URI = 'sqlite:///{os.getcwd()}/otterwiki.db'\n"
    "SECRET_KEY = 'not a secret: one computer, one user'\nSITE_NAME = 'Wiki'\nCOMMIT_MESSAGE = 'OPTIONAL'\n"
    "READ_ACCESS = WRITE_ACCESS = ATTACHMENT_ACCESS = 'ANONYMOUS'\n"
)
