"""People show and correct: recordings of their work (`in_situ`), and the policy's own path with a person beside it."""
