"""Descriptions of the values that settings accept, for error messages and help texts."""

import msgspec


def describe_type(kind: msgspec.inspect.Type) -> str:
    """Describe the values of a type for an error message or help text."""
    inspect = msgspec.inspect
    if isinstance(kind, inspect.UnionType):
        return " or ".join(describe_type(member) for member in kind.types if not isinstance(member, inspect.NoneType))
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        description = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
        if kind.ge is not None:
            description += f" from {kind.ge}"
        if kind.gt is not None:
            description += f" above {kind.gt}"
        return description if kind.le is None else f"{description} to {kind.le}"
    if isinstance(kind, inspect.BoolType):
        return "true or false"
    if isinstance(kind, inspect.DateTimeType):
        return "a time such as 2026-12-01T00:00:00Z"
    if isinstance(kind, inspect.StrType) and kind.pattern is not None:
        return f"text that matches {kind.pattern}"
    if isinstance(kind, inspect.StrType) and (kind.min_length or 0) > 1:
        return f"text of {kind.min_length} characters or more"
    return "text"
