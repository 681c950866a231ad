"""Conversion of identifiers between naming styles, for tests that derive names from others."""


def snake_case(name: str) -> str:
    """Return a name in camel case as snake case."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
