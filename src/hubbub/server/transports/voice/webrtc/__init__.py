"""Browsers in calls: ICE-lite, DTLS and SRTP on the UDP port of the voice server (spec/voice.md#12).

`stun`, `dtls`, `srtp` and `sdp` implement one protocol each and perform no I/O. `browsers` routes datagrams to them.
"""

from hubbub.server.transports.voice.webrtc.browsers import AUDIO, VIDEO, BrowserEvents, Browsers, BrowserTransport
from hubbub.server.transports.voice.webrtc.sdp import Offer, OfferError
from hubbub.server.transports.voice.webrtc.srtp import SrtpCipher
from hubbub.server.transports.voice.webrtc.stun import is_stun


def load_libraries() -> None:
    """Import the libraries for DTLS and SRTP now, so that no browser waits for them."""
    import pylibsrtp  # noqa: F401

    import hubbub.server.transports.voice.webrtc.dtls  # noqa: F401


__all__ = [
    "AUDIO",
    "VIDEO",
    "BrowserEvents",
    "BrowserTransport",
    "Browsers",
    "Offer",
    "OfferError",
    "SrtpCipher",
    "is_stun",
    "load_libraries",
]
