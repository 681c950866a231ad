"""Talk tier: messages and the slices that depend on them, such as threads, private calls, reports, search and webhooks."""
