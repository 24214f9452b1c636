"""Recordings of people who work on their own computers and think aloud, and what becomes of them (section 2.4)."""
