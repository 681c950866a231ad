"""What the server proposes: to add somebody, or to remove a leaf."""

from collections.abc import Iterable
from dataclasses import dataclass

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.codec import u16, u32, u64, vec
from hubbub.server.transports.voice.dave.keys import ExternalSender, reference

_ADD = 1
_REMOVE = 3
_APPEND = b"\x00"
_REVOKE = b"\x01"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A key package that was checked, with what else is asked of it."""

    user_id: int
    package: codec.KeyPackage
    data: bytes
    """The package, bare."""
    ref: bytes
    """Its reference, by which a welcome names it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A signed proposal."""

    message: bytes
    ref: bytes
    """Its reference, by which a commit names it."""
    arrival: Arrival | None = None
    """Who is added, if somebody is."""
    leaf_index: int = -1
    """Which leaf is removed, if one is."""


def add(sender: ExternalSender, group_id: bytes, epoch: int, arrival: Arrival) -> Proposal:
    """Proposes to add somebody."""
    message, ref = _sign(sender, group_id, epoch, u16(_ADD) + arrival.data)
    return Proposal(message, ref, arrival=arrival)


def remove(sender: ExternalSender, group_id: bytes, epoch: int, leaf_index: int) -> Proposal:
    """Proposes to remove who sits at this leaf."""
    message, ref = _sign(sender, group_id, epoch, u16(_REMOVE) + u32(leaf_index))
    return Proposal(message, ref, leaf_index=leaf_index)


def _sign(sender: ExternalSender, group_id: bytes, epoch: int, proposal: bytes) -> tuple[bytes, bytes]:
    content = b"".join(
        (
            vec(group_id),
            u64(epoch),
            bytes((codec.EXTERNAL,)),
            u32(0),  # we are the first, and only, of the group's external senders
            vec(b""),
            bytes((codec.PROPOSAL,)),
            proposal,
        )
    )
    framed = u16(codec.PUBLIC_MESSAGE) + content
    # RFC 9420, 6.1: an external sender signs no group context, so we need not know the tree.
    signature = vec(sender.sign("FramedContentTBS", u16(codec.MLS_10) + framed))
    return u16(codec.MLS_10) + framed + signature, reference("Proposal Reference", framed + signature)


def append(proposals: Iterable[Proposal]) -> bytes:
    """Op 27 that hands out proposals."""
    return _APPEND + vec(b"".join(proposal.message for proposal in proposals))


def revoke(proposals: Iterable[Proposal]) -> bytes:
    """Op 27 that takes proposals back."""
    return _REVOKE + vec(b"".join(vec(proposal.ref) for proposal in proposals))
