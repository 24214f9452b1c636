"""Games as HTML5 pages with verifiers, reference players and metadata."""
