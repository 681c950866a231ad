"""The SDP offer of a browser, and the description of the server that answers it (spec/voice.md#12)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hubbub.media import rtp
from hubbub.protocol import voice as protocol

OFFER_BYTES_MAX: Final = 64 * 1024
"""Size limit of an offer in bytes."""
LINES_MAX: Final = 2000
CODECS_MAX: Final = 64

NATIVE_PAYLOAD_TYPES: Final = {"opus": rtp.OPUS_PAYLOAD_TYPE, "H264": 101, "VP8": 103, "VP9": 105, "AV1": 107}
"""Payload types of native clients by codec; the next number is the payload type of retransmitted video."""
AUDIO_CODEC: Final = "opus"

_FINGERPRINT_PATTERN: Final = re.compile(r"[0-9A-F]{2}(?::[0-9A-F]{2}){31}", re.ASCII)
_UFRAG_PATTERN: Final = re.compile(r"[A-Za-z0-9+/]{4,256}", re.ASCII)
_PASSWORD_PATTERN: Final = re.compile(r"[A-Za-z0-9+/]{22,256}", re.ASCII)
_RTPMAP_PATTERN: Final = re.compile(r"([0-9]{1,3}) ([A-Za-z0-9-]{1,32})/[0-9]{1,6}(?:/[0-9]{1,2})?", re.ASCII)
_RETRANSMISSION_PATTERN: Final = re.compile(r"([0-9]{1,3}) apt=([0-9]{1,3})", re.ASCII)
_DYNAMIC_PAYLOAD_TYPES: Final = frozenset((*range(35, 64), *range(96, 128)))
"""Payload types that SDP may assign; other payload types are static or look like RTCP (RFC 5761)."""


class OfferError(Exception):
    """Raised for an invalid offer, with the reason."""


@dataclass(frozen=True, slots=True)
class PayloadTypes:
    """The payload types of a browser."""

    codecs: dict[str, int]
    """Payload types by codec; contains at least the audio codec."""
    retransmissions: dict[str, int] = field(default_factory=dict)
    """Payload types of retransmitted video by codec."""

    @property
    def video_codec(self) -> str | None:
        """The video codec that the browser prefers; None if the browser offers none."""
        return next((codec for codec in self.codecs if codec != AUDIO_CODEC), None)

    def by_native(self) -> dict[int, int]:
        """Return the payload types of the browser by those of native clients."""
        browser_types = {NATIVE_PAYLOAD_TYPES[codec]: browser_type for codec, browser_type in self.codecs.items()}
        browser_types |= {
            NATIVE_PAYLOAD_TYPES[codec] + 1: browser_type for codec, browser_type in self.retransmissions.items()
        }
        return browser_types


@dataclass(frozen=True, slots=True)
class Offer:
    """The parts of an offer that the server needs."""

    session_id: str
    """ID of the browser's peer connection, from the line `o=`; empty if the client left the line out."""
    fingerprint: str
    """SHA-256 of the browser's certificate."""
    ufrag: str
    """ICE user fragment of the browser."""
    payload_types: PayloadTypes
    password: str | None = None
    """ICE password of the browser; None if the client left the line out."""

    @classmethod
    def parse(cls, text: str, codecs: Iterable[protocol.Codec] | None) -> "Offer":
        """Parse an offer; raise OfferError if it is invalid.

        `codecs` are the payload types of the client's message; without them the payload types of the offer are used.
        """
        if len(text.encode(errors="replace")) > OFFER_BYTES_MAX:
            raise OfferError("the offer is too large")
        lines = text.splitlines()
        if len(lines) > LINES_MAX:
            raise OfferError("the offer has too many lines")
        fingerprints, ufrags, passwords, session_id = set(), set(), set(), ""
        codecs_by_type: dict[int, str] = {}
        retransmission_types: dict[int, int] = {}
        for line in lines:
            name, _, value = line.strip().partition(":")
            if name == "a=fingerprint":
                algorithm, _, digest = value.partition(" ")
                if algorithm.lower() == "sha-256":
                    fingerprints.add(digest.strip().upper())
            elif name == "a=ice-ufrag":
                ufrags.add(value)
            elif name == "a=ice-pwd":
                passwords.add(value)
            elif name == "a=rtpmap" and (match := _RTPMAP_PATTERN.fullmatch(value)):
                codecs_by_type.setdefault(int(match[1]), match[2])
            elif name == "a=fmtp" and (match := _RETRANSMISSION_PATTERN.fullmatch(value)):
                retransmission_types[int(match[2])] = int(match[1])
            elif name.startswith("o=") and len(fields := line.split()) > 1:
                session_id = fields[1][:64]
        if len(fingerprints) != 1 or not _FINGERPRINT_PATTERN.fullmatch(digest := fingerprints.pop()):
            raise OfferError("the offer needs one SHA-256 fingerprint")
        if len(ufrags) != 1 or not _UFRAG_PATTERN.fullmatch(ufrag := ufrags.pop()):
            raise OfferError("the offer needs one ICE user fragment")
        password = passwords.pop() if passwords else None
        if passwords or (password is not None and not _PASSWORD_PATTERN.fullmatch(password)):
            raise OfferError("the offer has an invalid ICE password or several passwords")
        payload_types = (
            _offered_types(codecs_by_type, retransmission_types) if codecs is None else _selected_types(codecs)
        )
        return cls(session_id, digest, ufrag, payload_types, password)


def _offered_types(codecs_by_type: dict[int, str], retransmission_types: dict[int, int]) -> PayloadTypes:
    """Return the first payload type of each codec in an offer."""
    codecs: dict[str, int] = {}
    retransmissions: dict[str, int] = {}
    for payload_type, name in codecs_by_type.items():
        codec = _known_codec(name)
        if codec is not None and codec not in codecs:
            codecs[codec] = payload_type
            if payload_type in retransmission_types:
                retransmissions[codec] = retransmission_types[payload_type]
    return _checked_types(codecs, retransmissions)


def _selected_types(codecs: Iterable[protocol.Codec]) -> PayloadTypes:
    """Return the payload types that a client lists, in order of preference."""
    codec_list = list(codecs)
    if len(codec_list) > CODECS_MAX:
        raise OfferError("too many codecs")
    selected_types: dict[str, int] = {}
    retransmissions: dict[str, int] = {}
    for codec in sorted(codec_list, key=lambda codec: codec.priority):
        name = _known_codec(codec.name)
        if name is not None and name not in selected_types:
            selected_types[name] = codec.payload_type
            if codec.rtx_payload_type is not None and name != AUDIO_CODEC:
                retransmissions[name] = codec.rtx_payload_type
    return _checked_types(selected_types, retransmissions)


def _known_codec(name: str) -> str | None:
    return next((codec for codec in NATIVE_PAYLOAD_TYPES if codec.lower() == name.lower()), None)


def _checked_types(codecs: dict[str, int], retransmissions: dict[str, int]) -> PayloadTypes:
    payload_types = [*codecs.values(), *retransmissions.values()]
    if AUDIO_CODEC not in codecs:
        raise OfferError("the offer needs opus")
    if len(set(payload_types)) != len(payload_types) or not _DYNAMIC_PAYLOAD_TYPES.issuperset(payload_types):
        raise OfferError("a payload type is invalid or used twice")
    return PayloadTypes(codecs, retransmissions)


def build_server_description(address: tuple[str, int], ufrag: str, password: str, fingerprint: str) -> str:
    """Return the description of the server from which a client builds its SDP answer."""
    ip, port = address
    return (
        f"m=audio {port} ICE/SDP\n"
        f"c=IN IP4 {ip}\n"
        f"a=rtcp:{port}\n"
        f"a=ice-ufrag:{ufrag}\n"
        f"a=ice-pwd:{password}\n"
        f"a=fingerprint:sha-256 {fingerprint}\n"
        f"a=candidate:1 1 UDP 2130706431 {ip} {port} typ host\n"
    )
