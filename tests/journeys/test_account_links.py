"""Account linking and unlinking in any order, compared with a model.

No token outlives its link, no identity is lost, and no user gets access to a foreign account.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import aiohttp
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.identities import MERGES_PER_DAY_MAX
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.clock import ControlledClock
from hubbub.server.identity import accounts, applications, identities, users
from tests.oauth import Client
from tests.players import BOT_ISSUED, create_social_game, request_bot_token
from tests.world import NOW_MS, Actor, ApiResponse, World, small_config

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
PLAYERS = ("ada", "bea", "cleo")
SCOPE = "sdk.social_layer"


@dataclass
class Grant:
    """The result of one exchange: an access token, an optional refresh token, and the game tokens derived from it."""

    owner_id: int
    access_token: str
    expires_ms: int
    refresh_token: str | None = None
    """Refresh token; None if the exchange issued none."""
    used_refresh_tokens: list[str] = field(default_factory=list)
    child_tokens: list[tuple[str, int]] = field(default_factory=list)
    """Tokens of the game and their expiration times in Unix milliseconds."""
    is_alive: bool = True


class FullAccount:
    """The model of a user with a full account."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.banned_until_ms: float = 0
        """End of the ban in Unix milliseconds; 0 if there is none, infinity if it is permanent."""
        self.merge_times_ms: list[int] = []


class AccountLinks(RuleBasedStateMachine):
    """A publisher with one game, three players and two users, and a model of their accounts and tokens."""

    world: ClassVar[World]
    runner: ClassVar[asyncio.Runner]

    def __init__(self) -> None:
        super().__init__()
        self.account_id_by_player: dict[str, int] = {}
        """ID of the account that each player has."""
        self.provisional_accounts: dict[int, int | None] = {}
        """IDs of the provisional accounts, and the ID of the user whose ban restricts each, or None."""
        self.known_account_ids: set[int] = set()
        """IDs of all accounts that exist or existed."""
        self.grants: list[Grant] = []
        self.invalid_tokens: list[str] = []
        """Tokens of users and of the game that the server must reject."""
        self.full_accounts: list[FullAccount] = []
        self.run_coroutine(self._create_family())

    async def _create_family(self) -> None:
        owner = await self.world.user()
        self.head: Client = await create_social_game(self.world, owner=owner)
        self.child: Client = await create_social_game(self.world, owner=owner)

        def join_publisher(call: Call) -> None:
            rows = [applications.find(call.tx, client.id) for client in (self.child, self.head)]
            assert rows[0] is not None
            assert rows[1] is not None
            identities.join_family(call, rows[0], rows[1])

        await self.world.write(join_publisher)
        self.full_accounts = [FullAccount(await self.world.user()) for _ in range(2)]
        self.known_account_ids = {account.actor.id for account in self.full_accounts}

    def run_coroutine(self, coroutine: Any) -> Any:
        """Run a coroutine to completion."""
        return self.runner.run(coroutine)

    @property
    def now_ms(self) -> int:
        """The current time in Unix milliseconds."""
        return self.world.clock.now_ms()

    # Model state

    def is_banned(self, account: FullAccount) -> bool:
        return account.banned_until_ms > self.now_ms

    def end_grant(self, grant: Grant) -> None:
        grant.is_alive = False
        self.invalid_tokens += [grant.access_token, *(token for token, _ in grant.child_tokens)]
        grant.child_tokens = []

    def end_grants(self, owner_id: int) -> None:
        for grant in self.grants:
            if grant.owner_id == owner_id and grant.is_alive:
                self.end_grant(grant)

    def has_valid_token(self, grant: Grant) -> bool:
        return grant.is_alive and (grant.refresh_token is not None or grant.expires_ms > self.now_ms)

    def unlink(self, owner_id: int) -> None:
        """End the grants of an account. If it is a full account, its players get one new provisional account."""
        self.end_grants(owner_id)
        players = [player for player, account_id in self.account_id_by_player.items() if account_id == owner_id]
        if not players or owner_id in self.provisional_accounts:
            return
        account = next(candidate for candidate in self.full_accounts if candidate.actor.id == owner_id)
        (new_account_id,) = {self.read_account_id(player) for player in players}
        assert new_account_id not in self.known_account_ids, "a former account was given to another player"
        self.known_account_ids.add(new_account_id)
        self.provisional_accounts[new_account_id] = owner_id if self.is_banned(account) else None
        for player in players:
            self.account_id_by_player[player] = new_account_id

    def read_account_id(self, player: str) -> int:
        """Return the ID of a player's account according to the store."""
        sql = "SELECT user_id FROM external_identities WHERE family_id = ? AND provider_user_id = ?"
        rows = self.run_coroutine(self.world.app.database.read(lambda tx: tx.all(sql, self.head.id, player)))
        assert len(rows) == 1, f"{player} has {len(rows)} identities"
        account_id: int = rows[0][0]
        return account_id

    def add_grant(self, owner_id: int, tokens: dict[str, Any]) -> Grant:
        grant = Grant(owner_id, tokens["access_token"], self.now_ms + WEEK_MS, tokens.get("refresh_token"))
        self.grants.append(grant)
        return grant

    def list_valid_tokens(self) -> list[tuple[str, int]]:
        """Return every valid access token with the ID of its user."""
        tokens = []
        for grant in self.grants:
            if grant.is_alive:
                tokens += [(grant.access_token, grant.owner_id)] if grant.expires_ms > self.now_ms else []
                tokens += [
                    (token, grant.owner_id) for token, expires_ms in grant.child_tokens if expires_ms > self.now_ms
                ]
        return tokens

    # Actions

    @rule(player=st.sampled_from(PLAYERS))
    def play(self, player: str) -> None:
        response: ApiResponse = self.run_coroutine(request_bot_token(self.head, player))
        account_id = self.account_id_by_player.get(player)
        if account_id is not None and account_id not in self.provisional_accounts:
            assert response.rejected(400, 530010)["user_id"] == str(account_id)
            return
        tokens = response.ok()
        stored_account_id = self.read_account_id(player)
        if account_id is None:
            assert stored_account_id not in self.known_account_ids
            self.known_account_ids.add(stored_account_id)
            self.provisional_accounts[stored_account_id] = None
            self.account_id_by_player[player] = stored_account_id
        assert self.account_id_by_player[player] == stored_account_id
        self.add_grant(stored_account_id, tokens | {"refresh_token": None})

    @rule(index=st.integers(0, 1))
    def authorize(self, index: int) -> None:
        account = self.full_accounts[index]
        response: ApiResponse = self.run_coroutine(self.head.authorize(account.actor, SCOPE))
        if self.is_banned(account):
            response.rejected(401, 0)
            return
        code = response.ok()["url"].partition("code=")[2].partition("&")[0]
        self.add_grant(account.actor.id, self.run_coroutine(self.head.exchange(code)).ok())

    @precondition(lambda self: self.grants)
    @rule(index=st.integers(0, 1), data=st.data())
    def link(self, index: int, data: st.DataObject) -> None:
        """Authorize the game for a user with a valid or invalid external token."""
        account = self.full_accounts[index]
        if self.is_banned(account):
            return
        tokens = [token for token, _ in self.list_valid_tokens()] + self.invalid_tokens[-3:]
        if not tokens:
            return
        self.authorize_with(account, data.draw(st.sampled_from(tokens)))

    @rule(index=st.integers(0, 1), player=st.sampled_from(PLAYERS))
    def play_and_link(self, index: int, player: str) -> None:
        """Play with a provisional account, then link it to a full one."""
        self.play(player)
        account_id = self.account_id_by_player[player]
        access_tokens = [grant.access_token for grant in self.grants if grant.owner_id == account_id]
        if access_tokens and not self.is_banned(self.full_accounts[index]):
            self.authorize_with(self.full_accounts[index], access_tokens[-1])

    @rule(index=st.integers(0, 1), player=st.sampled_from(PLAYERS), days=st.sampled_from([1, None]))
    def link_then_ban(self, index: int, player: str, days: int | None) -> None:
        """Link an account, ban its user, play again, and link the new account to the other user."""
        self.play_and_link(index, player)
        self.ban(index, days)
        self.play_and_link(1 - index, player)

    def authorize_with(self, account: FullAccount, token: str) -> None:
        """Authorize the game for a user with an external token, and check the result against the model."""
        code = self.run_coroutine(self.head.request_code(account.actor, SCOPE))
        response: ApiResponse = self.run_coroutine(
            self.head.exchange(code, external_auth_type=BOT_ISSUED, external_auth_token=token)
        )
        user_id = account.actor.id
        owner_id = dict(self.list_valid_tokens()).get(token)
        players = [player for player, account_id in self.account_id_by_player.items() if account_id == owner_id]
        if owner_id is None or not players:
            response.rejected(403, 50025)
        elif owner_id == user_id:
            self.add_grant(user_id, response.ok())
        elif owner_id not in self.provisional_accounts:
            response.rejected(400, 530014)
        elif self.is_restricted(owner_id):
            response.rejected(400, 530017)
        elif user_id in self.account_id_by_player.values():
            response.rejected(400, 530023)
        elif sum(merged_ms > self.now_ms - DAY_MS for merged_ms in account.merge_times_ms) >= MERGES_PER_DAY_MAX:
            response.rejected(429, 0)
        else:
            tokens = response.ok()
            self.end_grants(owner_id)
            del self.provisional_accounts[owner_id]
            for player in players:
                self.account_id_by_player[player] = user_id
            account.merge_times_ms.append(self.now_ms)
            self.add_grant(user_id, tokens)

    def is_restricted(self, provisional_id: int) -> bool:
        banned_user_id = self.provisional_accounts[provisional_id]
        return banned_user_id is not None and any(
            account.actor.id == banned_user_id and self.is_banned(account) for account in self.full_accounts
        )

    @precondition(lambda self: any(grant.refresh_token for grant in self.grants))
    @rule(data=st.data(), is_replay=st.booleans())
    def refresh(self, data: st.DataObject, is_replay: bool) -> None:
        grant = data.draw(st.sampled_from([candidate for candidate in self.grants if candidate.refresh_token]))
        if is_replay and grant.used_refresh_tokens:
            response: ApiResponse = self.run_coroutine(self.head.refresh(grant.used_refresh_tokens[-1]))
            assert (response.status, response.json["error"]) == (400, "invalid_grant")
            if grant.is_alive:
                self.end_grant(grant)
                if not any(self.has_valid_token(other) for other in self.grants if other.owner_id == grant.owner_id):
                    self.unlink(grant.owner_id)
            return
        assert grant.refresh_token is not None
        response = self.run_coroutine(self.head.refresh(grant.refresh_token))
        if not grant.is_alive:
            assert response.status == 400
            assert response.json == {
                "error": "invalid_grant",
                "error_description": 'Invalid "refresh_token" in request',
            }
            return
        tokens = response.ok()
        self.invalid_tokens.append(grant.access_token)
        grant.used_refresh_tokens.append(grant.refresh_token)
        grant.access_token, grant.refresh_token, grant.expires_ms = (
            tokens["access_token"],
            tokens["refresh_token"],
            self.now_ms + WEEK_MS,
        )

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def exchange_child(self, data: st.DataObject) -> None:
        grant = data.draw(st.sampled_from(self.grants))
        body = {
            "parent_access_token": grant.access_token,
            "child_application_id": str(self.child.id),
            "parent_client_secret": self.head.secret,
        }
        response: ApiResponse = self.run_coroutine(self.world.request("POST", "/partner-sdk/child-token", json=body))
        if not grant.is_alive or grant.expires_ms <= self.now_ms:
            response.rejected(403, 50025)
        else:
            grant.child_tokens.append((response.ok()["access_token"], grant.expires_ms))

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        grant = data.draw(st.sampled_from(self.grants))
        was_alive = grant.is_alive
        self.run_coroutine(self.head.post_form("/oauth2/token/revoke", token=grant.access_token)).ok()
        if was_alive:
            self.unlink(grant.owner_id)

    @precondition(lambda self: any(grant.is_alive and grant.child_tokens for grant in self.grants))
    @rule(data=st.data())
    def revoke_child(self, data: st.DataObject) -> None:
        """Revoke one token of the game; this ends all tokens of the game of the same user."""
        grant = data.draw(
            st.sampled_from([candidate for candidate in self.grants if candidate.is_alive and candidate.child_tokens])
        )
        self.run_coroutine(self.child.post_form("/oauth2/token/revoke", token=grant.child_tokens[-1][0])).ok()
        for candidate in self.grants:
            if candidate.owner_id == grant.owner_id:
                self.invalid_tokens += [token for token, _ in candidate.child_tokens]
                candidate.child_tokens = []

    @rule(player=st.sampled_from(PLAYERS))
    def unmerge(self, player: str) -> None:
        assert self.head.bot is not None
        path = "/partner-sdk/provisional-accounts/unmerge/bot"
        response: ApiResponse = self.run_coroutine(self.head.bot.post(path, json={"external_user_id": player}))
        account_id = self.account_id_by_player.get(player)
        if account_id is None:
            response.rejected(404, 10013)
        elif account_id in self.provisional_accounts:
            response.rejected(400, 50229)
        else:
            response.ok()
            self.unlink(account_id)

    @rule(index=st.integers(0, 1))
    def deauthorize(self, index: int) -> None:
        """Deauthorize the application for a user."""
        account = self.full_accounts[index]
        response: ApiResponse = self.run_coroutine(account.actor.get("/oauth2/tokens"))
        if self.is_banned(account):
            response.rejected(401, 0)
            return
        for authorization in response.ok():
            self.run_coroutine(account.actor.delete(f"/oauth2/tokens/{authorization['id']}")).ok()
            self.unlink(account.actor.id)

    @rule(index=st.integers(0, 1), days=st.sampled_from([1, None]))
    def ban(self, index: int, days: int | None) -> None:
        account = self.full_accounts[index]
        ends_ms = None if days is None else self.now_ms + days * DAY_MS
        self.run_coroutine(self.world.write(lambda call: accounts.ban(call, UserId(account.actor.id), ends_ms=ends_ms)))
        account.banned_until_ms = float("inf") if ends_ms is None else ends_ms
        self.unlink(account.actor.id)

    @rule(index=st.integers(0, 1))
    def unban(self, index: int) -> None:
        account = self.full_accounts[index]
        was_banned = self.run_coroutine(self.world.write(lambda call: accounts.unban(call, UserId(account.actor.id))))
        assert was_banned is self.is_banned(account)
        account.banned_until_ms = 0
        self.run_coroutine(self.sign_in(account))

    @rule(days=st.sampled_from([1, 1, 3]))
    def advance_days(self, days: int) -> None:
        banned_accounts = [account for account in self.full_accounts if self.is_banned(account)]
        self.world.clock.set(self.now_ms + days * DAY_MS)
        for account in banned_accounts:
            if not self.is_banned(account):
                self.run_coroutine(self.sign_in(account))

    async def sign_in(self, account: FullAccount) -> None:
        """Issue a new login token to a user; a ban revokes login tokens."""
        from hubbub.server.core import auth

        actor = account.actor
        actor.token = await self.world.write(
            lambda call: auth.issue(call.tx, kind="user", user_id=actor.id, now=call.now_ms, ids=call.ids)
        )

    # Invariants

    @invariant()
    def no_token_outlives_its_link(self) -> None:
        async def check() -> None:
            valid_tokens = dict(self.list_valid_tokens())
            for token, owner_id in valid_tokens.items():
                actor = await self.world.app.auth.find_by_token(token)
                assert actor is not None, "a valid token was rejected"
                assert actor.user_id == owner_id, "a token authenticates another account"
            for token in self.invalid_tokens:
                assert await self.world.app.auth.find_by_token(token) is None, "a token outlived its link"

        if self.full_accounts:
            self.run_coroutine(check())

    @invariant()
    def no_identity_is_lost_and_no_account_is_orphaned(self) -> None:
        def check(call: Call) -> None:
            sql = "SELECT provider_user_id, user_id FROM external_identities WHERE family_id = ?"
            assert dict(call.tx.all(sql, self.head.id)) == self.account_id_by_player
            sql = "SELECT user_id FROM provisional_accounts WHERE family_id = ?"
            assert {row[0] for row in call.tx.all(sql, self.head.id)} == set(self.provisional_accounts)
            for user_id in self.known_account_ids:
                row = users.find(call.tx, user_id)
                if user_id in self.provisional_accounts:
                    assert row is not None
                    assert row.flags & UserFlags.PROVISIONAL_ACCOUNT
                elif row is not None:
                    assert not row.flags & UserFlags.PROVISIONAL_ACCOUNT

        if self.full_accounts:
            self.run_coroutine(self.world.write(check))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """A runner with an event loop of its own."""
    with asyncio.Runner() as asyncio_runner:
        yield asyncio_runner


def test_the_server_agrees_with_the_model_after_links_in_any_order(runner: asyncio.Runner) -> None:
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))

    async def start_world() -> World:
        await app.start()
        return World(app, aiohttp.ClientSession())

    async def stop_world(world: World) -> None:
        await world.client.close()
        await app.stop()

    world = runner.run(start_world())
    AccountLinks.world, AccountLinks.runner = world, runner
    try:
        run_state_machine_as_test(
            AccountLinks,
            settings=settings(
                max_examples=40,
                stateful_step_count=25,
                deadline=None,
                # Report the first failure immediately: shrinking takes minutes.
                phases=(Phase.explicit, Phase.generate),
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )
    finally:
        runner.run(stop_world(world))
