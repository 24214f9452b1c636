"""Makes the database of a site of Wagtail and fills it with pages (content on stdin)."""

import json
import pathlib
import sys

import django
from django.core.management import call_command

content = json.load(sys.stdin)
pathlib.Path("media").mkdir()
django.setup()
call_command("migrate", verbosity=0)

from django.contrib.auth.models import User  # noqa: E402  they need what was set up
from wagtail.models import Page, Site  # noqa: E402
from wagtail_site.pages.models import TextPage  # noqa: E402

User.objects.create_superuser("anna", "", "anna", first_name="Anna", last_name="Lindqvist")
for each in content["users"]:
    first, _, last = each["name"].partition(" ")
    User.objects.create_user(each["username"], "", each["username"], first_name=first, last_name=last)
Site.objects.all().delete()
Page.objects.filter(depth=2).delete()
root = Page.objects.get(depth=1)
home = root.add_child(instance=TextPage(title=content["home"], slug="home", body="<p>Welcome.</p>"))
Site.objects.create(hostname="localhost", port=8011, root_page=home, is_default_site=True)
pages = {"": home}
for each in content["pages"]:
    page = TextPage(title=each["title"], intro=each["intro"], body=each["body"], live=each["live"])
    pages[each["title"]] = pages[each["parent"]].add_child(instance=page)
for page in pages.values():
    revision = page.save_revision()
    if page.live:
        revision.publish()
call_command("rebuild_references_index", verbosity=0)
