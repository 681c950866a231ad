"""One module per resource: its models, operations, events and limits."""
