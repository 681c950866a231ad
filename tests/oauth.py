"""Applications as OAuth2 clients, for tests of authorization."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import UserId
from hubbub.server.identity import applications
from tests.world import Actor, ApiResponse, Bearer, World

REDIRECT = "https://game.example/callback"
FORM_HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


def create_pkce_pair() -> tuple[str, str]:
    """Return a PKCE code verifier and its S256 challenge."""
    verifier = secrets.token_urlsafe(32)
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def url_parameters(url: str) -> dict[str, str]:
    """Return the parameters in the query and the fragment of a URL."""
    split_url = urlsplit(url)
    return dict(parse_qsl(split_url.query) + parse_qsl(split_url.fragment))


@dataclass
class Client:
    """An application as an OAuth2 client, with its secret, owner and bot."""

    world: World
    id: int
    secret: str
    owner: Actor
    bot: Actor | None
    """Bot of the application; None if it has none."""
    is_public: bool = False
    redirect_uri: str = REDIRECT

    def authorize_path(self, scope: str | None = "identify", **extra_parameters: Any) -> str:
        """Return the path and query of an authorization request; parameters that are None are left out."""
        parameters = {"client_id": self.id, "response_type": "code", "redirect_uri": self.redirect_uri, "scope": scope}
        return "/oauth2/authorize?" + urlencode(
            {name: value for name, value in (parameters | extra_parameters).items() if value is not None}
        )

    async def authorize(
        self, user: Actor, scope: str | None = "identify", *, body: Any = None, **parameters: Any
    ) -> ApiResponse:
        """Authorize the application as a user; `body` adds fields to the request body, and may replace `authorize`."""
        return await user.post(self.authorize_path(scope, **parameters), json={"authorize": True, **(body or {})})

    async def request_code(self, user: Actor, scope: str = "identify", **parameters: Any) -> str:
        """Authorize the application as a user and return the authorization code."""
        return url_parameters((await self.authorize(user, scope, **parameters)).ok()["url"])["code"]

    async def post_form(self, path: str, *, sends_secret: bool | None = None, **fields: Any) -> ApiResponse:
        """Post a form with the client ID; fields that are None are left out.

        `sends_secret` adds the client secret; None adds it for confidential clients only.
        """
        form = {"client_id": self.id, **fields}
        if sends_secret is None:
            sends_secret = not self.is_public
        if sends_secret:
            form["client_secret"] = self.secret
        encoded_form = urlencode({name: value for name, value in form.items() if value is not None})
        return await self.world.request("POST", path, data=encoded_form, headers=FORM_HEADERS)

    async def exchange(self, code: str, **extra_fields: Any) -> ApiResponse:
        """Exchange an authorization code for tokens."""
        fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.redirect_uri}
        return await self.post_form("/oauth2/token", **(fields | extra_fields))

    async def refresh(self, refresh_token: str, **fields: Any) -> ApiResponse:
        """Exchange a refresh token for new tokens."""
        return await self.post_form("/oauth2/token", grant_type="refresh_token", refresh_token=refresh_token, **fields)

    async def request_tokens(self, user: Actor, scope: str = "identify", **parameters: Any) -> Any:
        """Authorize the application as a user by the code flow with PKCE, and return the token response."""
        verifier, challenge = create_pkce_pair()
        code = await self.request_code(
            user, scope, code_challenge=challenge, code_challenge_method="S256", **parameters
        )
        return (await self.exchange(code, code_verifier=verifier)).ok()

    def bearer(self, user: Actor, token: str) -> Bearer:
        """Return an actor that calls the API with an access token that a user granted to the application."""
        return Bearer(self.world, user.id, token, user.name, application_id=self.id)


async def create_application(
    world: World,
    owner: Actor | None = None,
    *,
    is_public: bool = False,
    has_bot: bool = True,
    redirect_uris: tuple[str, ...] = (REDIRECT,),
    flags: int = 0,
    name: str = "Game",
) -> Client:
    """Create an application; None for `owner` creates a new user as its owner."""
    owner = owner or await world.user()
    if is_public:
        flags |= ApplicationFlags.PUBLIC_OAUTH2_CLIENT
    created_application = await world.write(
        lambda call: applications.management.create(
            call, name, UserId(owner.id), with_bot=has_bot, flags=flags, redirect_uris=list(redirect_uris)
        )
    )
    row = created_application.row
    actor = (
        Actor(world, row.bot_id, created_application.bot_token, name, is_bot=True, application_id=row.id)
        if has_bot
        else None
    )
    return Client(world, row.id, created_application.client_secret, owner, actor, is_public=is_public)


async def set_application_columns(world: World, client: Client, **columns: int) -> None:
    """Set columns of the application's row directly in the database."""
    for column, value in columns.items():
        await world.write(
            lambda call, column=column, value=value: call.tx.run(
                f"UPDATE applications SET {column} = ? WHERE id = ?", value, client.id
            )
        )


def assert_oauth2_error(response: ApiResponse, error: str, status: int = 400) -> str:
    """Assert that a response is this RFC 6749 error, and return its description."""
    assert (response.status, response.json.get("error")) == (status, error), f"{response.status}: {response.body!r}"
    assert "code" not in response.json
    description: str = response.json["error_description"]
    return description
