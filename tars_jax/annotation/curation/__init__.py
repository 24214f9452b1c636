"""Curation of recordings into a data set: verified, deduplicated, reviewed twice, refined (section 2.4.1,
"Curation")."""
