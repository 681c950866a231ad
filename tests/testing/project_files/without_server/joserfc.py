"""A replacement for joserfc that fails like a missing package."""

raise ModuleNotFoundError("No module named 'joserfc'", name="joserfc")
