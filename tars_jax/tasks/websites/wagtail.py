"""Wagtail: the pages of a small site, edited in its admin. Its user anna is logged in by the form."""

from __future__ import annotations

import random
import re

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Login, Row, Sql, Untold, Website

_BLOCK_KEY = re.compile(r' data-block-key="[^"]*"')
_EMPTY_ENDS = re.compile(r"^(?:\s*<p>(?:\s|<br/?>)*</p>)+|(?:<p>(?:\s|<br/?>)*</p>\s*)+$")
_BLANK_ENDS = re.compile(r"(?<=^<p>)\s+|\s+(?=</p>$)")
_DATABASE = "site.sqlite3"
_PAGES = """SELECT p.title, p.slug, up.title AS parent, t.intro, t.body, p.live, p.show_in_menus AS in_menus,
  p.seo_title, p.search_description, p.has_unpublished_changes AS unpublished,
  -- In place of the days of the first and the last time, which are other ones in each making of the site.
  EXISTS (SELECT 1 FROM wagtailcore_pagelogentry l WHERE l.page_id = p.id AND l.user_id IS NOT NULL
    AND (l.action LIKE 'wagtail.publish%' OR l.action LIKE 'wagtail.unpublish%')) AS published_since
  FROM wagtailcore_page p JOIN pages_textpage t ON t.page_ptr_id = p.id
  LEFT JOIN wagtailcore_page up ON up.path = substr(p.path, 1, length(p.path) - 4) ORDER BY p.path"""
# What was saved and not published stands in the last revision alone.
_DRAFTS = """SELECT json_extract(r.content, '$.title') AS title, json_extract(r.content, '$.slug') AS slug,
  json_extract(r.content, '$.intro') AS intro, json_extract(r.content, '$.body') AS body,
  json_extract(r.content, '$.show_in_menus') AS in_menus, json_extract(r.content, '$.seo_title') AS seo_title,
  json_extract(r.content, '$.search_description') AS search_description
  FROM wagtailcore_page p JOIN wagtailcore_revision r ON r.id = p.latest_revision_id
  WHERE p.has_unpublished_changes ORDER BY p.path"""
# The order in which a menu lists the pages below one.
_ORDERS = """SELECT up.title AS parent, group_concat(p.id, ' ') AS pages
  FROM (SELECT id, path FROM wagtailcore_page ORDER BY path) p
  JOIN wagtailcore_page up ON up.path = substr(p.path, 1, length(p.path) - 4) GROUP BY up.path ORDER BY up.path"""
# What can be done beside a task and no other reader shows: few rows at first.
_BESIDE = """SELECT 'locked' AS what, slug AS name, '' AS value FROM wagtailcore_page WHERE locked
  UNION ALL SELECT 'schedule', p.slug, coalesce(json_extract(r.content, '$.go_live_at'), '') || ' to ' ||
    coalesce(json_extract(r.content, '$.expire_at'), '') FROM wagtailcore_page p
    JOIN wagtailcore_revision r ON r.id = p.latest_revision_id
    WHERE json_extract(r.content, '$.go_live_at') IS NOT NULL OR json_extract(r.content, '$.expire_at') IS NOT NULL
  UNION ALL SELECT 'privacy', p.slug, v.restriction_type FROM wagtailcore_pageviewrestriction v
    JOIN wagtailcore_page p ON p.id = v.page_id
  UNION ALL SELECT 'comment', c.contentpath, c.text || ' ' || (c.resolved_at IS NOT NULL) FROM wagtailcore_comment c
  UNION ALL SELECT 'reply', '', text FROM wagtailcore_commentreply
  UNION ALL SELECT 'subscription', p.slug, u.username FROM wagtailcore_pagesubscription s
    JOIN wagtailcore_page p ON p.id = s.page_id JOIN auth_user u ON u.id = s.user_id WHERE s.comment_notifications
  UNION ALL SELECT 'workflow', object_id, status FROM wagtailcore_workflowstate
  UNION ALL SELECT 'group', name, '' FROM auth_group
  UNION ALL SELECT 'image', title, '' FROM wagtailimages_image
  UNION ALL SELECT 'document', title, '' FROM wagtaildocs_document
  UNION ALL SELECT 'site', hostname, site_name FROM wagtailcore_site
  UNION ALL SELECT 'password', username, password FROM auth_user
  UNION ALL SELECT 'profile', user_id, preferred_language || ' ' || current_time_zone || ' ' || theme || ' ' || density
    FROM wagtailusers_userprofile WHERE preferred_language != '' OR current_time_zone != ''
    OR theme != 'system' OR density != 'default'"""
_TOLD = (
    "wagtailcore_page", "pages_textpage", "wagtailcore_revision", "wagtailcore_comment", "wagtailcore_commentreply",
    "wagtailcore_pageviewrestriction", "wagtailcore_workflowstate", "auth_group", "auth_user", "wagtailimages_image",
    "wagtaildocs_document", "wagtailcore_site", "wagtailusers_userprofile", "wagtailredirects_redirect",
    "wagtailcore_collection", "wagtailcore_pagesubscription",  # by readers
    "wagtailcore_*logentry", "wagtailcore_referenceindex", "wagtailcore_taskstate",
    "wagtailsearch_*", "wagtailadmin_formstate",  # follow from these
)  # fmt: skip
# Who is logged in and has an editor open, and pictures in the size in which they were shown.
_PASSED = ("django_session", "wagtailadmin_editingsession", "wagtailimages_rendition")
_REDIRECTS = """SELECT r.old_path, p.title AS page, r.redirect_link AS link, r.is_permanent AS permanent
  FROM wagtailredirects_redirect r LEFT JOIN wagtailcore_page p ON p.id = r.redirect_page_id ORDER BY r.old_path"""


def _plain(row: Row) -> Row:
    """Without the keys that the editor draws by chance for each block of a text, and what is empty at a text's ends."""
    return {**row, "body": _BLANK_ENDS.sub("", _EMPTY_ENDS.sub("", _BLOCK_KEY.sub("", row["body"] or "")))}


def _content(rng: random.Random) -> Content:
    titles = words.pick(rng, words.TOPICS, 7)
    people = [person for person in words.PEOPLE if words.login_of(person) != "anna"]
    return {
        "home": f"{rng.choice(words.SHOPS)}",
        "pages": [
            {
                "title": title,
                "parent": titles[rng.randrange(3)] if number >= 3 else "",
                "intro": words.sentence(rng),
                "body": f"<p>{words.paragraph(rng, 3)}</p>",
                "live": rng.random() < 0.8,
            }
            for number, title in enumerate(titles)
        ],
        "users": [{"username": words.login_of(each), "name": each} for each in words.pick(rng, tuple(people), 3)],
    }


SITE = Website(
    "wagtail",
    version="8.0.1",
    license="BSD-3-Clause",
    package="pypi:wagtail",
    title="Wagtail",
    port=8011,
    prepare=("{python}", "-W", "ignore", "{programs}/wagtail_prepare.py"),
    serve=("{python}", "-W", "ignore", "{programs}/wsgi_serve.py", "{port}", "{programs}/wagtail_application.py"),
    content=_content,
    environment={"DJANGO_SETTINGS_MODULE": "wagtail_site.settings"},
    first_page="/admin/pages/3/",  # of the home page
    health="/admin/login/",
    login=Login("/admin/login/", {"username": "anna", "password": "anna"}),
    readers={
        "pages": Sql(_DATABASE, _PAGES, _plain),
        "drafts": Sql(_DATABASE, _DRAFTS, _plain),
        "orders": Sql(_DATABASE, _ORDERS),
        "beside": Sql(_DATABASE, _BESIDE),
        "untold": Untold(_DATABASE, _TOLD, _PASSED),
        "redirects": Sql(_DATABASE, _REDIRECTS),
        "users": Sql(
            _DATABASE,
            "SELECT username, first_name, last_name, email, is_superuser, is_active FROM auth_user ORDER BY username",
        ),
        "collections": Sql(_DATABASE, "SELECT name FROM wagtailcore_collection WHERE depth > 1 ORDER BY name"),
    },
    transient=("media/*",),
    database=_DATABASE,
)
