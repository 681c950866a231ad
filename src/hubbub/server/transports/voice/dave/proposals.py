"""MLS proposals of the server: Add and Remove."""

from collections.abc import Iterable
from dataclasses import dataclass

from hubbub.server.transports.voice.dave import codec
from hubbub.server.transports.voice.dave.codec import u16, u32, u64, vec
from hubbub.server.transports.voice.dave.keys import ExternalSender, compute_reference

# ProposalType of RFC 9420.
_ADD_TYPE = 1
_REMOVE_TYPE = 3
# The first byte of the payload of PROPOSALS.
_APPEND_MARK = b"\x00"
_REVOKE_MARK = b"\x01"


@dataclass(frozen=True, slots=True)
class ValidatedKeyPackage:
    """A validated key package with its encoding and reference."""

    user_id: int
    package: codec.KeyPackage
    data: bytes
    """The encoded key package, without the MLSMessage wrapper."""
    ref: bytes
    """The reference by which a Welcome identifies the key package."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A signed proposal."""

    message: bytes
    """The proposal as an encoded MLSMessage."""
    ref: bytes
    """The reference by which a Commit identifies the proposal."""
    key_package: ValidatedKeyPackage | None = None
    """The key package of an Add; None for a Remove."""
    leaf_index: int = -1
    """The leaf of a Remove; -1 for an Add."""


def sign_add(sender: ExternalSender, group_id: bytes, epoch: int, key_package: ValidatedKeyPackage) -> Proposal:
    """Return a signed proposal that adds the owner of a key package to the group."""
    message, ref = _sign_proposal(sender, group_id, epoch, u16(_ADD_TYPE) + key_package.data)
    return Proposal(message, ref, key_package=key_package)


def sign_remove(sender: ExternalSender, group_id: bytes, epoch: int, leaf_index: int) -> Proposal:
    """Return a signed proposal that removes the member at this leaf."""
    message, ref = _sign_proposal(sender, group_id, epoch, u16(_REMOVE_TYPE) + u32(leaf_index))
    return Proposal(message, ref, leaf_index=leaf_index)


def _sign_proposal(sender: ExternalSender, group_id: bytes, epoch: int, encoded_proposal: bytes) -> tuple[bytes, bytes]:
    """Return the signed proposal as an encoded MLSMessage, and its reference."""
    content = b"".join(
        (
            vec(group_id),
            u64(epoch),
            bytes((codec.EXTERNAL,)),
            u32(0),  # the server is the first and only external sender of the group
            vec(b""),
            bytes((codec.PROPOSAL,)),
            encoded_proposal,
        )
    )
    framed_content = u16(codec.PUBLIC_MESSAGE) + content
    # RFC 9420, 6.1: an external sender does not sign the group context, so the server need not know the tree.
    signature = vec(sender.sign("FramedContentTBS", u16(codec.MLS_10) + framed_content))
    return u16(codec.MLS_10) + framed_content + signature, compute_reference(
        "Proposal Reference", framed_content + signature
    )


def encode_append(proposals: Iterable[Proposal]) -> bytes:
    """Return the payload of PROPOSALS that distributes proposals."""
    return _APPEND_MARK + vec(b"".join(proposal.message for proposal in proposals))


def encode_revoke(proposals: Iterable[Proposal]) -> bytes:
    """Return the payload of PROPOSALS that revokes proposals."""
    return _REVOKE_MARK + vec(b"".join(vec(proposal.ref) for proposal in proposals))
