"""Values that actions return: JSON objects and lists from the platform."""

from collections.abc import Generator, Mapping
from typing import Any, Self

import msgspec

from hubbub.protocol import codec


class Result(dict[str, Any]):
    """A JSON object from the platform; awaiting it returns itself."""

    component_message: Mapping[str, Any] | None = None
    """For the response to an interaction: the message whose component was used, or None."""
    is_modal: bool = False
    """For the response to an interaction: whether it is a modal."""

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self


def to_result(model: msgspec.Struct) -> Result:
    """Return a model as the JSON object that the platform sent, with IDs and timestamps as strings."""
    return Result(msgspec.json.decode(codec.encode(model)))


class ResultList(list[Any]):
    """A JSON list from the platform; awaiting it returns itself."""

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self
