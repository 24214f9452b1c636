"""Programs that play by chat completions alone, each by a framework of its own: see docs/harness.md."""
