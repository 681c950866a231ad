"""A rehearsal of the demo world in the test process, with its users, game and simulated identity providers."""

from typing import Any

from tests.oauth import Client
from tests.rehearsal import Rehearsal
from tests.world import Actor


class DemoRehearsal(Rehearsal):
    """A rehearsal of the demo world, with its game and identity providers."""

    def demo_user(self, name: str) -> Actor:
        """Return a user of the demo world."""
        user = self.control.built_world.users[name]
        return Actor(self, user.id, user.token, name)

    @property
    def demo_game(self) -> Client:
        """The demo world's game as an OAuth2 client; `bot` is None although the application may have a bot."""
        application = self.control.built_world.applications["demo-game"]
        return Client(
            self,
            application.id,
            application.client_secret,
            self.demo_user("alice"),
            bot=None,
            is_public=True,
            redirect_uri="http://127.0.0.1/callback",
        )

    async def issue_credential(self, provider: str, user_id: str, **fields: Any) -> tuple[str, str]:
        """Issue a credential of a simulated provider and return its external authentication type and its token."""
        credential = (
            await self.control_request("POST", f"/issuers/{provider}/tokens", json={"user_id": user_id, **fields})
        ).ok()
        return credential["external_auth_type"], credential["external_auth_token"]
