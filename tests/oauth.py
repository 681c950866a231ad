"""Applications that ask people for something, for tests of OAuth2."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import UserId
from hubbub.server.resources import applications
from tests.world import Actor, Answer, World

REDIRECT = "https://game.example/callback"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def pkce() -> tuple[str, str]:
    """A verifier and its challenge."""
    verifier = secrets.token_urlsafe(32)
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def fields_of(url: str) -> dict[str, str]:
    """What an answer carries, in its query or its fragment."""
    parts = urlsplit(url)
    return dict(parse_qsl(parts.query) + parse_qsl(parts.fragment))


@dataclass
class Client:
    """An application as its developer runs it."""

    world: World
    id: int
    secret: str
    owner: Actor
    bot: Actor | None
    public: bool = False
    redirect_uri: str = REDIRECT

    def address(self, scope: str | None = "identify", **more: Any) -> str:
        """The path and query to send a person to."""
        fields = {"client_id": self.id, "response_type": "code", "redirect_uri": self.redirect_uri, "scope": scope}
        return "/oauth2/authorize?" + urlencode({k: v for k, v in (fields | more).items() if v is not None})

    async def ask(self, person: Actor, scope: str | None = "identify", *, body: Any = None, **more: Any) -> Answer:
        """A person grants what is asked."""
        return await person.post(self.address(scope, **more), json={"authorize": True, **(body or {})})

    async def code(self, person: Actor, scope: str = "identify", **more: Any) -> str:
        """A code that a person granted."""
        return fields_of((await self.ask(person, scope, **more)).ok()["url"])["code"]

    async def post(self, path: str, *, secret: bool | None = None, **fields: Any) -> Answer:
        """Ask at an endpoint for clients."""
        form = {"client_id": self.id, **fields}
        if secret if secret is not None else not self.public:
            form["client_secret"] = self.secret
        sent = urlencode({name: value for name, value in form.items() if value is not None})
        return await self.world.request("POST", path, data=sent, headers=FORM)

    async def exchange(self, code: str, **more: Any) -> Answer:
        """Bring a code."""
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        return await self.post("/oauth2/token", **(fields | more))

    async def refresh(self, refresh_token: str, **more: Any) -> Answer:
        """Bring a refresh token."""
        return await self.post("/oauth2/token", grant_type="refresh_token", refresh_token=refresh_token, **more)

    async def tokens(self, person: Actor, scope: str = "identify", **more: Any) -> Any:
        """The tokens that a person granted, by code and PKCE."""
        verifier, challenge = pkce()
        code = await self.code(person, scope, code_challenge=challenge, code_challenge_method="S256", **more)
        return (await self.exchange(code, code_verifier=verifier)).ok()

    def bearer(self, person: Actor, token: str) -> "Bearer":
        """The application acting for a person."""
        return Bearer(self.world, person.id, token, person.name, application_id=self.id)


@dataclass
class Bearer(Actor):
    """An actor with an access token."""

    player: bool = True


async def application(
    world: World,
    owner: Actor | None = None,
    *,
    public: bool = False,
    bot: bool = True,
    redirect_uris: tuple[str, ...] = (REDIRECT,),
    flags: int = 0,
    name: str = "Game",
) -> Client:
    """A registered application."""
    owner = owner or await world.user()
    if public:
        flags |= ApplicationFlags.PUBLIC_OAUTH2_CLIENT
    made = await world.write(
        lambda call: applications.create(
            call, name, UserId(owner.id), bot=bot, flags=flags, redirect_uris=list(redirect_uris)
        )
    )
    actor = Actor(world, made.row.bot_id, made.bot_token, name, bot=True, application_id=made.row.id) if bot else None
    return Client(world, made.row.id, made.client_secret, owner, actor, public=public)


async def edit(world: World, client: Client, **columns: int) -> None:
    """Change what the portal changes."""
    for column, value in columns.items():
        await world.write(
            lambda call, column=column, value=value: call.tx.run(
                f"UPDATE applications SET {column} = ? WHERE id = ?", value, client.id
            )
        )


def refused(answer: Answer, error: str, status: int = 400) -> str:
    """The description of an RFC 6749 refusal of this kind; fails loudly otherwise."""
    assert (answer.status, answer.json.get("error")) == (status, error), f"{answer.status}: {answer.body!r}"
    assert "code" not in answer.json
    description: str = answer.json["error_description"]
    return description
