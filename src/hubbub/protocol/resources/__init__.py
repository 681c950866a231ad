"""One module per resource: models, operations, events and limits."""
