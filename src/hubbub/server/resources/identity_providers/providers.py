"""One provider for each kind of credential: what a player brings becomes who they are elsewhere, or a refusal."""

import re
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import msgspec

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.resources.oauth2 import STANDARD_SCHEME
from hubbub.server.core.config import Config
from hubbub.server.core.guarded import GuardedAnswer, UnreachableError
from hubbub.server.core.work import Work
from hubbub.server.resources.identity_providers import issuers, jwts, oidc
from hubbub.server.resources.identity_providers.actions import Settings
from hubbub.server.resources.identity_providers.refusals import InvalidCredential

FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
NAMES: Final = ("preferred_username", "nickname", "name")


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Who somebody is elsewhere, as their provider confirmed."""

    provider_type: str
    provider_id: str = ""
    """The issuer where a type has several."""
    user_id: str
    """What the provider calls them."""
    name: str | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a provider is asked."""

    settings: Settings
    credential: str
    config: Config
    now: int
    strict: bool
    """Whether issuers must follow the rules."""


class Provider(Protocol):
    """A kind of credential."""

    @property
    def type(self) -> str:
        """The provider as applications configure it."""
        ...

    async def verify(self, work: Work, question: Question) -> Verified:
        """Who brings this; raises in the codes of sdk.md 8.4."""
        ...


class Oidc:
    """An ID token of an issuer that the application named."""

    type = "OIDC"

    async def verify(self, work: Work, question: Question) -> Verified:
        """Check issuer, audience, signature and time, in this order."""
        token = jwts.read(question.credential)
        settings = question.settings
        addresses = {
            client.id: issuers.address_of(question.config, settings.issuer_of(client)) for client in settings.clients
        }
        if token.issuer not in addresses.values():
            raise errors.ID_TOKEN_ISSUER_MISMATCH()
        if not any(addresses.get(client_id) == token.issuer for client_id in token.audience):
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        keys_url = await oidc.keys_url(work, token.issuer, question.now, strict=question.strict)
        await jwts.require_signature(work, token, keys_url, question.now)
        jwts.require_current(token, question.now)
        # The stored word, not the address: what is built in moves with the port.
        stored = next(settings.issuer_of(client) for client in settings.clients if addresses[client.id] == token.issuer)
        name = token.claims.get("preferred_username")
        return Verified(
            provider_type=self.type,
            provider_id=stored,
            user_id=token.subject,
            name=name if isinstance(name, str) and 1 <= len(name) <= 32 else None,
        )


class IdToken(msgspec.Struct, frozen=True, kw_only=True):
    """An ID token of a provider that there is one of: its address and where its keys are is known."""

    type: str
    word: str
    """What its address is called in the configuration, and in a rehearsal."""
    usual: str
    keys: dict[str, str]
    """Paths of issuers below the address, and of the keys of each."""
    audience: str = "{}"
    """What of the audience is the client's id."""
    names: tuple[str, ...] = NAMES

    async def verify(self, work: Work, question: Question) -> Verified:
        """Check issuer, audience, signature and time."""
        token = jwts.read(question.credential)
        base = address(question.config, self.word, self.usual)
        found = {f"{base}{path}": f"{base}{keys}" for path, keys in self.keys.items()}
        keys_url = found.get(token.issuer)
        if keys_url is None:
            raise errors.ID_TOKEN_ISSUER_MISMATCH()
        meant = {self.audience.format(client.id) for client in question.settings.clients}
        if meant.isdisjoint(token.audience):
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        await jwts.require_signature(work, token, keys_url, question.now)
        jwts.require_current(token, question.now)
        return Verified(provider_type=self.type, user_id=token.subject, name=_name(token.claims, self.names))


class Steam:
    """A session ticket, which Steam's web API knows."""

    type = "STEAM"

    async def verify(self, work: Work, question: Question) -> Verified:
        """Ask for each of the games that the application is there."""
        base = address(question.config, "steam", "https://partner.steam-api.com")
        key = question.config.identity.steam_key or ("rehearsal" if question.config.control else "")
        if not key:
            raise errors.OIDC_DISCOVERY_UNREACHABLE(message="The operator has no key of Steam's web API")
        if re.fullmatch(r"[0-9a-fA-F]+", question.credential) is None:
            raise InvalidCredential()
        for client in question.settings.clients:
            query = {"key": key, "appid": client.id, "ticket": question.credential, "identity": STANDARD_SCHEME}
            answer = await _ask(work, "GET", f"{base}/ISteamUserAuth/AuthenticateUserTicket/v1/?{urlencode(query)}")
            params = _inner(_inner(answer, "response"), "params")
            steam_id = params.get("steamid")
            if params.get("result") == "OK" and isinstance(steam_id, str) and steam_id:
                return Verified(
                    provider_type=self.type, user_id=steam_id, name=await self._persona(work, base, key, steam_id)
                )
        raise InvalidCredential()

    async def _persona(self, work: Work, base: str, key: str, steam_id: str) -> str | None:
        query = urlencode({"key": key, "steamids": steam_id})
        try:
            answer = await _ask(work, "GET", f"{base}/ISteamUser/GetPlayerSummaries/v2/?{query}")
        except errors.ApiError:
            # A name is no proof: without it the player comes in all the same.
            return None
        players = _inner(answer, "response").get("players")
        first = players[0] if isinstance(players, list) and players else None
        return _name(first, ("personaname",)) if isinstance(first, dict) else None


class EpicAccessToken:
    """An access token, which Epic Online Services know."""

    type = "EPIC_ONLINE_SERVICES"

    async def verify(self, work: Work, question: Question) -> Verified:
        """Ask whose it is, and whether it was given to one of our clients."""
        base = address(question.config, "epic", EPIC)
        body = urlencode({"token": question.credential}).encode()
        answer = await _ask(work, "POST", f"{base}/epic/oauth/v2/tokenInfo", body=body)
        account = answer.get("account_id")
        if answer.get("active") is not True or not isinstance(account, str) or not account:
            raise InvalidCredential()
        if answer.get("client_id") not in [client.id for client in question.settings.clients]:
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        return Verified(provider_type=self.type, user_id=account, name=_name(answer, ("display_name", "dn")))


EPIC: Final = "https://api.epicgames.dev"

PROVIDERS: Final[dict[str, Provider]] = {
    "OIDC": Oidc(),
    "EPIC_ONLINE_SERVICES_ACCESS_TOKEN": EpicAccessToken(),
    # Auth tokens carry the account's name, those of Connect none.
    "EPIC_ONLINE_SERVICES_ID_TOKEN": IdToken(
        type="EPIC_ONLINE_SERVICES",
        word="epic",
        usual=EPIC,
        keys={
            "/epic/oauth/v1": "/epic/oauth/v1/.well-known/jwks.json",
            "/epic/oauth/v2": "/epic/oauth/v2/.well-known/jwks.json",
            "/auth/v1/oauth": "/auth/v1/oauth/jwks",
        },
        names=("dn",),
    ),
    "STEAM_SESSION_TICKET": Steam(),
    "UNITY_SERVICES_ID_TOKEN": IdToken(
        type="UNITY",
        word="unity",
        usual="https://player-auth.services.api.unity.com",
        keys={"": "/.well-known/jwks.json"},
        audience="upid:{}",
    ),
    "APPLE_ID_TOKEN": IdToken(type="APPLE", word="apple", usual="https://appleid.apple.com", keys={"": "/auth/keys"}),
    "PLAYSTATION_NETWORK_ID_TOKEN": IdToken(
        type="PLAYSTATION_NETWORK",
        word="playstation",
        usual="https://auth.account.sony.com",
        keys={"": "/api/v1/oauth/jwks"},
        names=("online_id", *NAMES),
    ),
}
"""The provider of each kind of credential."""


def address(config: Config, word: str, usual: str) -> str:
    """Where a provider is: where the operator says, in a rehearsal with us, else where it usually is."""
    given: str | None = getattr(config.identity, f"{word}_url")
    if given is None:
        given = f"{config.web_url}/control/issuers/{word}" if config.control else usual
    return given.rstrip("/")


async def _ask(work: Work, method: str, url: str, *, body: bytes = b"") -> dict[str, Any]:
    try:
        answer: GuardedAnswer = await work.outside.request(method, url, headers=FORM, body=body)
        if answer.status in (400, 401, 403, 404):
            raise InvalidCredential()
        if answer.status != 200:
            raise UnreachableError(f"answered {answer.status}")
        return json.decode(answer.body, dict[str, Any])
    except (UnreachableError, ValueError):
        raise errors.OIDC_DISCOVERY_UNREACHABLE(message="The identity provider could not be reached") from None


def _inner(answer: dict[str, Any], key: str) -> dict[str, Any]:
    """An object inside another, or none of its keys."""
    found = answer.get(key)
    return found if isinstance(found, dict) else {}


def _name(claims: dict[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = claims.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None
