"""An encyclopedia as a site without network: articles, links, infoboxes and a search, from real data."""
