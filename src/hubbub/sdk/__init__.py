"""The client library that games, bots and apps hold in their hands."""

from hubbub.protocol.errors import ApiError
from hubbub.sdk.client import Client, File, TokenKind

__all__ = ["ApiError", "Client", "File", "TokenKind"]
