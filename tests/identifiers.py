"""Conversion of identifiers to snake case, for tests that derive one name from another."""


def snake_case(name: str) -> str:
    """Convert a name in camel case to snake case."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
