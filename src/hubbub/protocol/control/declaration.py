"""Function that declares an operation of the control API."""

from types import NoneType
from typing import Any

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, BodyT, Operation, ResultT


def control_operation(
    method: str,
    path: str,
    *raises: errors.ErrorCode,
    body: type[BodyT] = NoneType,  # type: ignore[assignment]
    result: type[ResultT] = NoneType,  # type: ignore[assignment]
    query: Any = NoneType,
    error_model: Any = NoneType,
) -> Operation[BodyT, ResultT]:
    """Return an operation of the control API, which has no rate limit and whose body may be absent if no field is required.

    `raises` are its error codes, to which INVALID_FORM_BODY is added if there is a body. `error_model` is the type of its
    error responses. `auth` is NONE, because the control server checks the control token before the handler."""
    if body is not NoneType:
        raises = (errors.INVALID_FORM_BODY, *raises)
    # A union of models has no fields to inspect, so its body is always required.
    model: Any = body
    is_struct = isinstance(model, type) and issubclass(model, msgspec.Struct)
    return Operation(
        method,
        path,
        body=body,
        result=result,
        query=query,
        error_model=error_model,
        raises=raises,
        auth=Auth.NONE,
        limit=None,
        optional_body=is_struct and not any(field.required for field in msgspec.structs.fields(model)),
    )
