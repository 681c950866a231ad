"""Changes of stored messages: edits, deletions and reassignment to other authors."""
