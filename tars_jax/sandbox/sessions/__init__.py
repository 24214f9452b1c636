"""What sessions of all kinds share: a lease with an owner, a person's hand, events, and how many there may be."""
