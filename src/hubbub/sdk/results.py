"""How an operation ended: `ClientResult`, and the exception that carries one to those who await."""

import re
from typing import Final

import aiohttp

from hubbub.protocol.errors import ApiError
from hubbub.sdk.enums import ErrorType, HttpStatusCode, known
from hubbub.sdk.http import Refused
from hubbub.sdk.objects import Copyable

TRANSIENT: Final = frozenset((423, 429, 500, 502, 503, 504))
"""Statuses after which the same request may succeed; 423 is a merge under way (sdk.md 8.5)."""


class ClientResult(Copyable):
    """How an operation ended (sdk.md 3)."""

    def __init__(
        self,
        type: ErrorType = ErrorType.NONE,
        error: str = "",
        *,
        error_code: int = 0,
        status: HttpStatusCode = HttpStatusCode.NONE,
        response_body: str = "",
        retryable: bool = False,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__()
        self.type = type
        """What went wrong, by kind."""
        self.error = error
        """A short description; for a refusal of OAuth its error word."""
        self.error_code = error_code
        """The platform's code, or that of the local RPC."""
        self.status = status
        """The status of the answer."""
        self.response_body = response_body
        """The whole answer."""
        self.retryable = retryable
        """Whether the same may succeed later."""
        self.retry_after = retry_after
        """Seconds to wait, where the platform said."""

    @property
    def successful(self) -> bool:
        """Whether it went well."""
        return self.type is ErrorType.NONE

    def to_string(self) -> str:
        """The error message."""
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
    """An operation failed; `result` says how."""

    def __init__(self, result: ClientResult) -> None:
        self.result = result
        super().__init__(f"{result.type.label}: {result.error}" if result.error else result.type.label)


def failure(type: ErrorType, error: str = "", *, code: int = 0, retryable: bool = False) -> SdkError:
    """An error of a kind."""
    return SdkError(ClientResult(type, error, error_code=code, retryable=retryable))


def invalid(error: str) -> SdkError:
    """A local check failed; only type and error are set."""
    return failure(ErrorType.VALIDATION_ERROR, error)


def of_exception(error: BaseException) -> ClientResult:
    """The result that an exception of an operation stands for; raises it again where it is none of ours."""
    if isinstance(error, SdkError):
        return error.result
    if isinstance(error, ApiError):
        return _of_refusal(error)
    if isinstance(error, TimeoutError):
        # Since 1.10 a response that timed out never counts as a success.
        return ClientResult(ErrorType.NETWORK_ERROR, "the platform did not answer in time", retryable=True)
    if isinstance(error, (aiohttp.ClientError, OSError)):
        return ClientResult(ErrorType.NETWORK_ERROR, str(error) or type(error).__name__, retryable=True)
    raise error


def _of_refusal(error: ApiError) -> ClientResult:
    word = error.extra.get("error")
    message = word if isinstance(word, str) else re.sub(r" \(\d+\)$", "", str(error))
    after = error.extra.get("retry_after")
    return ClientResult(
        ErrorType.HTTP_ERROR,
        message,
        error_code=error.kind.code,
        status=known(HttpStatusCode, error.status, HttpStatusCode.NONE),
        response_body=error.text if isinstance(error, Refused) else "",
        retryable=error.status in TRANSIENT,
        retry_after=float(after) if isinstance(after, int | float) else 0.0,
    )
