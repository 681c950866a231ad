"""A replacement for argon2 that fails like a missing package."""

raise ModuleNotFoundError("No module named 'argon2'", name="argon2")
