"""Values that actions return: JSON objects and lists from the platform, with their models."""

from collections.abc import Generator, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, Self, get_args, get_origin

import msgspec

from hubbub.protocol import codec

if TYPE_CHECKING:
    # Only type checkers need the default, so the package does not depend on typing_extensions.
    from typing_extensions import TypeVar

    ModelT = TypeVar("ModelT", default=Any)
else:
    from typing import TypeVar

    ModelT = TypeVar("ModelT")

StructT = TypeVar("StructT", bound=msgspec.Struct)


class Result(dict[str, Any], Generic[ModelT]):
    """A JSON object from the platform; awaiting it returns itself.

    `result["content"]` is the JSON as it was received, `result.model.content` the field of the model."""

    model_type: Any = None
    """Type of `model`; None if the platform declares none, as for the empty result of a deletion."""
    component_message: Mapping[str, Any] | None = None
    """For the response to an interaction: the message whose component was used, or None."""
    is_modal: bool = False
    """For the response to an interaction: whether it is a modal."""

    @classmethod
    def of(cls, content: Mapping[str, Any], model_type: type[ModelT]) -> "Result[ModelT]":
        """Return a JSON object with the type of its model."""
        result: Result[ModelT] = Result(content)
        result.model_type = model_type
        return result

    @property
    def model(self) -> ModelT:
        """The object decoded into its model in `hubbub.protocol`.

        Raise TypeError if the platform declares no model for it, and msgspec.ValidationError if it does not match the model."""
        model: ModelT = _decode(self, self.model_type)
        return model

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self


class ResultList(list[Any], Generic[ModelT]):
    """A JSON list from the platform; awaiting it returns itself."""

    model_type: Any = None
    """Type of each of `models`; None if the platform declares none."""

    @property
    def models(self) -> list[ModelT]:
        """The elements decoded into their models in `hubbub.protocol`; errors are those of `Result.model`."""
        return [_decode(element, self.model_type) for element in self]

    def __await__(self) -> Generator[Any, Any, Self]:
        yield from ()
        return self


def _decode(content: Any, model_type: Any) -> Any:
    if model_type is None:
        raise TypeError("the platform declares no model for this result; use its keys")
    return codec.decode(msgspec.json.encode(content), model_type)


def to_result(model: StructT) -> Result[StructT]:
    """Return a model as the JSON object that the platform sent, with IDs and timestamps as strings."""
    return Result.of(msgspec.json.decode(codec.encode(model)), type(model))


def wrap_body(body: Any, model_type: Any = None) -> Any:
    """Return a JSON object or list as a `Result` or `ResultList`, and other values unchanged.

    `model_type` is the type of the whole body; None if it is unknown."""
    if isinstance(body, dict):
        result: Result[Any] = Result(body)
        result.model_type = None if model_type is NoneType else model_type
        return result
    if isinstance(body, list):
        results: ResultList[Any] = ResultList(body)
        results.model_type = get_args(model_type)[0] if get_origin(model_type) is list else None
        return results
    return body
