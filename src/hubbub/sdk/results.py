"""Results of operations: `ClientResult`, and `SdkError`, which awaiting a failed operation raises."""

import re
from typing import Final

import aiohttp

from hubbub.protocol.errors import ApiError
from hubbub.sdk.arguments import Int32
from hubbub.sdk.enums import ErrorType, HttpStatusCode, member_or_default
from hubbub.sdk.http import ReceivedApiError
from hubbub.sdk.objects import Copyable

RETRYABLE_STATUSES: Final = frozenset((423, 429, 500, 502, 503, 504))
"""HTTP statuses after which a retry may succeed; 423 means that an account merge is in progress (spec/sdk.md#8.5)."""


class ClientResult(Copyable):
    """The outcome of an operation (spec/sdk.md#3)."""

    def __init__(
        self,
        type: ErrorType = ErrorType.NONE,
        error: str = "",
        *,
        error_code: Int32 = 0,
        status: HttpStatusCode = HttpStatusCode.NONE,
        response_body: str = "",
        retryable: bool = False,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__()
        self.type = type
        """The kind of error; `ErrorType.NONE` on success."""
        self.error = error
        """A short error message; for an OAuth2 error its error code, such as `invalid_grant`."""
        self.error_code = error_code
        """The error code of the platform's API or of the local RPC server; 0 if there is none."""
        self.status = status
        """The HTTP status of the response; `HttpStatusCode.NONE` if there was no response, or its status is not in the enum."""
        self.response_body = response_body
        """The unparsed response body of an HTTP error; empty otherwise."""
        self.retryable = retryable
        """Whether the same operation may succeed later."""
        self.retry_after = retry_after
        """Seconds to wait before a retry; 0 if the platform did not specify it."""

    @property
    def successful(self) -> bool:
        """Whether the operation succeeded."""
        return self.type is ErrorType.NONE

    def to_string(self) -> str:
        """Return the error message; empty on success."""
        return self.error

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        if not self:
            return "<ClientResult nullobj>"
        return f"<ClientResult {self.type.label}{': ' + self.error if self.error else ''}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientResult) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class SdkError(Exception):
    """Raised when an awaited operation fails; `result` has the details."""

    def __init__(self, result: ClientResult) -> None:
        self.result = result
        super().__init__(f"{result.type.label}: {result.error}" if result.error else result.type.label)


def sdk_error(type: ErrorType, error: str = "", *, code: int = 0, retryable: bool = False) -> SdkError:
    """Build an `SdkError`; `code` is an error code of the platform or of the local RPC server, or 0."""
    return SdkError(ClientResult(type, error, error_code=code, retryable=retryable))


def validation_error(error: str) -> SdkError:
    """Build the `SdkError` of a failed local check; only `type` and `error` are set."""
    return sdk_error(ErrorType.VALIDATION_ERROR, error)


def result_of_exception(error: BaseException) -> ClientResult:
    """Convert an exception of an operation to a result; re-raise an unexpected exception."""
    if isinstance(error, SdkError):
        return error.result
    if isinstance(error, ApiError):
        return _result_of_api_error(error)
    if isinstance(error, TimeoutError):
        # Since SDK 1.10 a timed-out response never counts as a success.
        return ClientResult(ErrorType.NETWORK_ERROR, "The platform did not respond in time", retryable=True)
    if isinstance(error, (aiohttp.ClientError, OSError)):
        return ClientResult(ErrorType.NETWORK_ERROR, str(error) or type(error).__name__, retryable=True)
    raise error


def _result_of_api_error(error: ApiError) -> ClientResult:
    oauth2_error = error.extra.get("error")
    # `str(error)` ends with the error code, which is in `error_code`.
    message = oauth2_error if isinstance(oauth2_error, str) else re.sub(r" \(\d+\)$", "", str(error))
    retry_after = error.extra.get("retry_after")
    return ClientResult(
        ErrorType.HTTP_ERROR,
        message,
        error_code=error.kind.code,
        status=member_or_default(HttpStatusCode, error.status, HttpStatusCode.NONE),
        response_body=error.text if isinstance(error, ReceivedApiError) else "",
        retryable=error.status in RETRYABLE_STATUSES,
        retry_after=float(retry_after) if isinstance(retry_after, int | float) else 0.0,
    )
