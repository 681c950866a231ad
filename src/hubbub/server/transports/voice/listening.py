"""The two sockets of the voice door, and what clients are told of them."""

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from hubbub.server.core.config import Config, ConfigError, VoiceConfig


@dataclass(frozen=True)
class Listening:
    """Where the voice server is."""

    tcp: socket.socket
    udp: socket.socket
    tls: ssl.SSLContext | None
    """None where a proxy before us speaks TLS."""
    endpoint: str
    """host[:port] that clients open wss:// at."""
    address: str
    """The IPv4 address that clients send packets to."""

    @property
    def udp_port(self) -> int:
        """And the port."""
        port: int = self.udp.getsockname()[1]
        return port


def is_open(config: Config) -> bool:
    """Whether there is a voice server here: clients insist on TLS, so with a certificate of ours or a proxy's (decisions/0050)."""
    return "voice" in config.roles and (config.voice.certificate is not None or config.voice.endpoint is not None)


def listen(config: Config) -> Listening:
    """Bind both sockets; ConfigError where a setting does not allow it."""
    settings = config.voice
    tls = context(settings)
    host = settings.host or config.host
    address = public_address(config)
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for sock, port, key in ((tcp, settings.port, "voice.port"), (udp, settings.udp_port, "voice.udp_port")):
            try:
                sock.bind((host, port))
            except OSError as error:
                raise ConfigError(
                    key, "voice server", f"cannot listen at {host}:{port}: {error.strerror or error}"
                ) from None
            sock.setblocking(False)
    except BaseException:
        tcp.close()
        udp.close()
        raise
    endpoint = settings.endpoint
    if endpoint is None:
        name = urlsplit(config.web_url).hostname or host
        endpoint = f"{name}:{tcp.getsockname()[1]}"
    return Listening(tcp, udp, tls, endpoint, address)


def context(settings: VoiceConfig) -> ssl.SSLContext | None:
    """The certificate in use; ConfigError when it cannot be."""
    if settings.certificate is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ValueError) as error:
        # ssl.SSLError is an OSError.
        words = getattr(error, "strerror", None) or error
        raise ConfigError("voice.certificate", settings.certificate, f"cannot be used with its key: {words}") from None
    return made


def public_address(config: Config) -> str:
    """The IPv4 address that clients are told; ConfigError where none can be known."""
    told = config.voice.public_address or config.voice.host or config.host
    try:
        address = ipaddress.ip_address(socket.gethostbyname(told))
    except (OSError, ValueError):
        address = None
    if address is None or address.version != 4 or address.is_unspecified:
        raise ConfigError(
            "voice.public_address",
            "voice server",
            f"clients cannot send packets to {told}; give our public IPv4 address",
        )
    return str(address)
