"""What a voice server says, as far as a line needs it: the SDK's own small models, as `payloads.py` has them for the gateway."""

from msgspec import Struct

from hubbub.protocol.voice import DAVE_VERSION


class Ready(Struct):
    """Where packets go, and under which number."""

    ssrc: int
    ip: str
    port: int
    modes: list[str]


class Description(Struct):
    """The key of our packets."""

    mode: str
    secret_key: list[int]
    dave_protocol_version: int = 0


class Speaking(Struct):
    """Whose packets are whose."""

    user_id: int
    ssrc: int = 0


class Users(Struct):
    """Who is in the call, or came to it."""

    user_ids: list[int] = []


class User(Struct):
    """Who left it."""

    user_id: int


class Transition(Struct):
    """A change of the group, or of what encrypts it."""

    transition_id: int = 0
    protocol_version: int = DAVE_VERSION
    epoch: int = 0
