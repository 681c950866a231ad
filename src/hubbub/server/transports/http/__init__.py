"""The HTTP door: routes, decodes, authenticates, counts, runs the operation and answers."""
