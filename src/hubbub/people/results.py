"""Values that actions return: JSON objects and lists from the platform."""

from collections.abc import Generator, Mapping
from typing import Any, Self


class Result(dict[str, Any]):
    """A JSON object from the platform; awaiting it returns itself."""

    component_message: Mapping[str, Any] | None = None
    """For the response to an interaction: the message whose component was used, or None."""
    is_modal: bool = False
    """For the response to an interaction: whether it is a modal."""

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self


class ResultList(list[Any]):
    """A JSON list from the platform; awaiting it returns itself."""

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self
