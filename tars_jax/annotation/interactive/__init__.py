"""Interactive annotation: a person decides on the policy's own path (section 2.4.2 of the report)."""
