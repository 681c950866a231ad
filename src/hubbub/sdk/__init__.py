"""The client library that games, bots and apps hold in their hands."""

from hubbub.protocol.errors import ApiError
from hubbub.sdk.api import Api, File, TokenKind

__all__ = ["Api", "ApiError", "File", "TokenKind"]
