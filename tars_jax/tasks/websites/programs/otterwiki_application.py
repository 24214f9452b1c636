"""An Otter Wiki, whose settings OTTERWIKI_SETTINGS names."""

from otterwiki.server import app

application = app
