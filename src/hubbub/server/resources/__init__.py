"""One room per resource: what we do when those words are said."""
