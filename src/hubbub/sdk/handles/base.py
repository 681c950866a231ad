"""Base class of handles, which are live views of objects in the client's cache."""

from hubbub.sdk.core import Core
from hubbub.sdk.objects import Copyable


class Handle(Copyable):
    """A live view of an object in the client's cache."""

    def __init__(self, core: Core, id: int) -> None:
        super().__init__()
        self._core = core
        self._id = id

    @property
    def _is_alive(self) -> bool:
        """Whether the client has not been destroyed."""
        return not self._core.is_destroyed

    @property
    def id(self) -> int:
        """ID of the object; 0 after the client is destroyed."""
        return self._id if self._is_alive else 0

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.__dict__.get("_id")))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.__dict__.get('_id', 'nullobj')}>"
