"""Sessions of all kinds: a lease with an owner, take-over by a person, events, and how many there may be."""
