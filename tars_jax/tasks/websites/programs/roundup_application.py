"""The Roundup tracker in tracker/."""

from roundup.cgi.wsgi_handler import RequestDispatcher

application = RequestDispatcher("tracker")
