"""The platform under test: the real App over real sockets, a prepared guild, and one caller of each kind."""

import contextlib
from collections.abc import AsyncIterator

import aiohttp
import msgspec

from hubbub.protocol.scopes import Scope
from hubbub.server.app import App
from hubbub.server.core import relying_party
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import IdentityConfig, MailConfig, VoiceConfig
from hubbub.server.core.login_config import LoginConfig
from hubbub.server.core.registration_config import RegistrationConfig
from hubbub.server.transports.http.admission import CAUSES
from tests.contract.prepared_guild import PreparedGuild, prepare_guild
from tests.contract.request_builder import RequestBuilder
from tests.openid_provider import OpenIdProvider
from tests.server.identity.operators import create_operator
from tests.world import NOW_MS, Actor, Bearer, World, small_config

RELYING_PARTY = relying_party.RelyingParty("chat.example", "https://chat.example")
"""Relying party of passkeys, which a server at an IP address does not have."""


class Platform:
    """A running platform, its prepared guild, and one caller of each kind."""

    def __init__(self, prepared_guild: PreparedGuild, issuer: OpenIdProvider, callers: dict[str, Actor]) -> None:
        self.prepared_guild = prepared_guild
        self.world, self.guild = prepared_guild.world, prepared_guild.guild
        self.builder = RequestBuilder(prepared_guild)
        self.issuer = issuer
        self.callers: dict[str, Actor | None] = {**callers, "anonymous": None}
        """Callers by kind; None sends no token."""
        self._overload_count = 0
        """Number of rejections under overload that `consume_overload` returned."""
        self.owner, self.bot, self.operator = callers["owner"], callers["bot"], callers["operator"]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server."""
        host, _, port = self.world.url.removeprefix("http://").partition(":")
        return host, int(port)

    def consume_overload(self) -> bool:
        """Return whether the server rejected a request under overload, once for each rejection.

        A busy machine delays the event loop, so such a rejection is expected (decisions/0157)."""
        rejection_counters = self.world.app.metrics.http_overload
        has_rejection = self._overload_count < sum(rejection_counters(cause).value for cause in CAUSES)
        self._overload_count += has_rejection
        return has_rejection


@contextlib.asynccontextmanager
async def run_platform() -> AsyncIterator[Platform]:
    """Run a platform in memory, without rate limits, with mail, passkeys and identity providers."""
    find_relying_party = relying_party.find_relying_party
    relying_party.find_relying_party = lambda web_url: RELYING_PARTY
    config = small_config(
        mail=MailConfig(keep_in_memory=True),
        allow_private_targets=True,
        identity=IdentityConfig(allow_any_issuer=True),
        registration=RegistrationConfig(allow_member_invites=True),
        # With an endpoint of a proxy, the voice server listens without TLS.
        voice=VoiceConfig(endpoint="voice.example:443"),
    )
    issuer = OpenIdProvider()
    await issuer.open()
    config = msgspec.structs.replace(config, login=LoginConfig(providers=(issuer.settings(),)))
    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            world = World(app, client)
            yield await _create_objects(world, issuer)
            await world.close()
    finally:
        await app.stop()
        await issuer.close()
        relying_party.find_relying_party = find_relying_party


async def _create_objects(world: World, issuer: OpenIdProvider) -> Platform:
    prepared_guild = await prepare_guild(world)
    owner, bot = prepared_guild.guild.owner, prepared_guild.bot
    scopes = [scope.value for scope in Scope]
    token = await world.access_token(owner, bot.application_id, *scopes)
    callers = {
        "owner": owner,
        "bot": bot,
        "member": await prepared_guild.guild.member(),
        "stranger": await world.user(),
        "operator": await create_operator(world, "operator"),
        "bearer": Bearer(world, owner.id, token, owner.name, application_id=bot.application_id),
    }
    return Platform(prepared_guild, issuer, callers)
