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
from tests.players import BOT_ISSUED, game, request_bot_token
from tests.world import NOW_MS, Actor, ApiResponse, World, small_config

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
PLAYERS = ("ada", "bea", "cleo")
SCOPE = "sdk.social_layer"


@dataclass
class Grant:
    """The result of one exchange: an access token, an optional refresh token, and the game tokens derived from it."""

    owner: int
    access: str
    expires_ms: int
    refresh: str | None = None
    used: list[str] = field(default_factory=list)
    children: list[tuple[str, int]] = field(default_factory=list)
    """Game tokens and their expiration times."""
    alive: bool = True


class Person:
    """A user with a full account."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.banned_until: float = 0
        """Infinity means permanently."""
        self.merges: list[int] = []


class Links(RuleBasedStateMachine):
    """A publisher with one game, three players and two users."""

    world: ClassVar[World]
    runner: ClassVar[asyncio.Runner]

    def __init__(self) -> None:
        super().__init__()
        self.holders: dict[str, int] = {}
        """The account of each player."""
        self.provisional: dict[int, int | None] = {}
        """Existing provisional accounts, and the user whose ban restricts each."""
        self.seen: set[int] = set()
        """Every account that ever existed."""
        self.grants: list[Grant] = []
        self.dead: list[str] = []
        """Tokens that are no longer valid."""
        self.people: list[Person] = []
        self.run(self._begin())

    async def _begin(self) -> None:
        owner = await self.world.user()
        self.head: Client = await game(self.world, owner=owner)
        self.child: Client = await game(self.world, owner=owner)

        def join(call: Call) -> None:
            rows = [applications.find(call.tx, each.id) for each in (self.child, self.head)]
            assert rows[0] is not None
            assert rows[1] is not None
            identities.join_family(call, rows[0], rows[1])

        await self.world.write(join)
        self.people = [Person(await self.world.user()) for _ in range(2)]
        self.seen = {person.actor.id for person in self.people}

    def run(self, step: Any) -> Any:
        """Run a coroutine to completion."""
        return self.runner.run(step)

    @property
    def now(self) -> int:
        """The current time in milliseconds."""
        return self.world.clock.now_ms()

    # Model state

    def is_banned(self, person: Person) -> bool:
        return person.banned_until > self.now

    def end(self, grant: Grant) -> None:
        grant.alive = False
        self.dead += [grant.access, *(text for text, _ in grant.children)]
        grant.children = []

    def end_all(self, owner: int) -> None:
        for grant in self.grants:
            if grant.owner == owner and grant.alive:
                self.end(grant)

    def has_any(self, owner: int) -> bool:
        return any(grant.alive and grant.owner == owner for grant in self.grants)

    def unlink(self, owner: int) -> None:
        """Unlink an account: its players get new provisional accounts."""
        self.end_all(owner)
        mine = [player for player, holder in self.holders.items() if holder == owner]
        if not mine or owner in self.provisional:
            return
        person = next(each for each in self.people if each.actor.id == owner)
        (found,) = {self.holder_of(player) for player in mine}
        assert found not in self.seen, "a former account was given to another player"
        self.seen.add(found)
        self.provisional[found] = owner if self.is_banned(person) else None
        for player in mine:
            self.holders[player] = found

    def holder_of(self, player: str) -> int:
        """Return a player's account according to the store."""
        sql = "SELECT user_id FROM external_identities WHERE family_id = ? AND provider_user_id = ?"
        rows = self.run(self.world.app.database.read(lambda tx: tx.all(sql, self.head.id, player)))
        assert len(rows) == 1, f"{player} is known {len(rows)} times"
        found: int = rows[0][0]
        return found

    def granted(self, owner: int, tokens: dict[str, Any]) -> Grant:
        made = Grant(owner, tokens["access_token"], self.now + WEEK_MS, tokens.get("refresh_token"))
        self.grants.append(made)
        return made

    def texts(self) -> list[tuple[str, int]]:
        """Return every valid access token with its owner."""
        good = []
        for grant in self.grants:
            if grant.alive:
                good += [(grant.access, grant.owner)] if grant.expires_ms > self.now else []
                good += [(text, grant.owner) for text, ends in grant.children if ends > self.now]
        return good

    # Actions

    @rule(player=st.sampled_from(PLAYERS))
    def play(self, player: str) -> None:
        answer: ApiResponse = self.run(request_bot_token(self.head, player))
        holder = self.holders.get(player)
        if holder is not None and holder not in self.provisional:
            assert answer.rejected(400, 530010)["user_id"] == str(holder)
            return
        tokens = answer.ok()
        found = self.holder_of(player)
        if holder is None:
            assert found not in self.seen
            self.seen.add(found)
            self.provisional[found] = None
            self.holders[player] = found
        assert self.holders[player] == found
        self.granted(found, tokens | {"refresh_token": None})

    @rule(index=st.integers(0, 1))
    def authorize(self, index: int) -> None:
        person = self.people[index]
        answer: ApiResponse = self.run(self.head.authorize(person.actor, SCOPE))
        if self.is_banned(person):
            answer.rejected(401, 0)
            return
        code = answer.ok()["url"].partition("code=")[2].partition("&")[0]
        self.granted(person.actor.id, self.run(self.head.exchange(code)).ok())

    @precondition(lambda self: self.grants)
    @rule(index=st.integers(0, 1), data=st.data())
    def link(self, index: int, data: st.DataObject) -> None:
        """Authorize the game for a user with a valid or invalid external token."""
        person = self.people[index]
        if self.is_banned(person):
            return
        pool = [text for text, _ in self.texts()] + self.dead[-3:]
        if not pool:
            return
        self.authorize_with(person, data.draw(st.sampled_from(pool)))

    @rule(index=st.integers(0, 1), player=st.sampled_from(PLAYERS))
    def play_and_link(self, index: int, player: str) -> None:
        """Play with a provisional account, then link it to a full one."""
        self.play(player)
        holder = self.holders[player]
        mine = [grant.access for grant in self.grants if grant.owner == holder]
        if mine and not self.is_banned(self.people[index]):
            self.authorize_with(self.people[index], mine[-1])

    @rule(index=st.integers(0, 1), player=st.sampled_from(PLAYERS), days=st.sampled_from([1, None]))
    def link_then_ban(self, index: int, player: str, days: int | None) -> None:
        """Link an account, ban its user, and play again."""
        self.play_and_link(index, player)
        self.ban(index, days)
        self.play_and_link(1 - index, player)

    def authorize_with(self, person: Person, token: str) -> None:
        """Authorize the game for a user with an external token, and check the result against the model."""
        code = self.run(self.head.code(person.actor, SCOPE))
        answer: ApiResponse = self.run(
            self.head.exchange(code, external_auth_type=BOT_ISSUED, external_auth_token=token)
        )
        me = person.actor.id
        owner = dict(self.texts()).get(token)
        players = [player for player, holder in self.holders.items() if holder == owner]
        if owner is None or not players:
            answer.rejected(403, 50025)
        elif owner == me:
            self.granted(me, answer.ok())
        elif owner not in self.provisional:
            answer.rejected(400, 530014)
        elif self.restricted(owner):
            answer.rejected(400, 530017)
        elif me in self.holders.values():
            answer.rejected(400, 530023)
        elif sum(moment > self.now - DAY_MS for moment in person.merges) >= MERGES_PER_DAY_MAX:
            answer.rejected(429, 0)
        else:
            tokens = answer.ok()
            self.end_all(owner)
            del self.provisional[owner]
            for player in players:
                self.holders[player] = me
            person.merges.append(self.now)
            self.granted(me, tokens)

    def restricted(self, provisional: int) -> bool:
        by = self.provisional[provisional]
        return by is not None and any(each.actor.id == by and self.is_banned(each) for each in self.people)

    @precondition(lambda self: any(grant.refresh for grant in self.grants))
    @rule(data=st.data(), replay=st.booleans())
    def refresh(self, data: st.DataObject, replay: bool) -> None:
        grant = data.draw(st.sampled_from([each for each in self.grants if each.refresh]))
        if replay and grant.used:
            answer: ApiResponse = self.run(self.head.refresh(grant.used[-1]))
            assert (answer.status, answer.json["error"]) == (400, "invalid_grant")
            if grant.alive:
                self.end(grant)
            return
        assert grant.refresh is not None
        answer = self.run(self.head.refresh(grant.refresh))
        if not grant.alive:
            assert answer.status == 400
            assert answer.json == {
                "error": "invalid_grant",
                "error_description": 'Invalid "refresh_token" in request',
            }
            return
        tokens = answer.ok()
        self.dead.append(grant.access)
        grant.used.append(grant.refresh)
        grant.access, grant.refresh, grant.expires_ms = (
            tokens["access_token"],
            tokens["refresh_token"],
            self.now + WEEK_MS,
        )

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def exchange_child(self, data: st.DataObject) -> None:
        grant = data.draw(st.sampled_from(self.grants))
        body = {
            "parent_access_token": grant.access,
            "child_application_id": str(self.child.id),
            "parent_client_secret": self.head.secret,
        }
        answer: ApiResponse = self.run(self.world.request("POST", "/partner-sdk/child-token", json=body))
        if not grant.alive or grant.expires_ms <= self.now:
            answer.rejected(403, 50025)
        else:
            grant.children.append((answer.ok()["access_token"], grant.expires_ms))

    @precondition(lambda self: self.grants)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        grant = data.draw(st.sampled_from(self.grants))
        known = grant.alive
        self.run(self.head.post("/oauth2/token/revoke", token=grant.access)).ok()
        if known:
            self.unlink(grant.owner)

    @precondition(lambda self: any(grant.alive and grant.children for grant in self.grants))
    @rule(data=st.data())
    def revoke_child(self, data: st.DataObject) -> None:
        """Revoke a single game token."""
        grant = data.draw(st.sampled_from([each for each in self.grants if each.alive and each.children]))
        self.run(self.child.post("/oauth2/token/revoke", token=grant.children[-1][0])).ok()
        for each in self.grants:
            if each.owner == grant.owner:
                self.dead += [text for text, _ in each.children]
                each.children = []

    @rule(player=st.sampled_from(PLAYERS))
    def unmerge(self, player: str) -> None:
        assert self.head.bot is not None
        path = "/partner-sdk/provisional-accounts/unmerge/bot"
        answer: ApiResponse = self.run(self.head.bot.post(path, json={"external_user_id": player}))
        holder = self.holders.get(player)
        if holder is None:
            answer.rejected(404, 10013)
        elif holder in self.provisional:
            answer.rejected(400, 50229)
        else:
            answer.ok()
            self.unlink(holder)

    @rule(index=st.integers(0, 1))
    def remove(self, index: int) -> None:
        """Deauthorize the application for a user."""
        person = self.people[index]
        listed: ApiResponse = self.run(person.actor.get("/oauth2/tokens"))
        if self.is_banned(person):
            listed.rejected(401, 0)
            return
        for authorization in listed.ok():
            self.run(person.actor.delete(f"/oauth2/tokens/{authorization['id']}")).ok()
            self.unlink(person.actor.id)

    @rule(index=st.integers(0, 1), days=st.sampled_from([1, None]))
    def ban(self, index: int, days: int | None) -> None:
        person = self.people[index]
        ends_ms = None if days is None else self.now + days * DAY_MS
        self.run(self.world.write(lambda call: accounts.ban(call, UserId(person.actor.id), ends_ms=ends_ms)))
        person.banned_until = float("inf") if ends_ms is None else ends_ms
        self.unlink(person.actor.id)

    @rule(index=st.integers(0, 1))
    def unban(self, index: int) -> None:
        person = self.people[index]
        lifted = self.run(self.world.write(lambda call: accounts.unban(call, UserId(person.actor.id))))
        assert lifted is self.is_banned(person)
        person.banned_until = 0
        self.run(self.sign_in(person))

    @rule(days=st.sampled_from([1, 1, 3]))
    def time_passes(self, days: int) -> None:
        before = [person for person in self.people if self.is_banned(person)]
        self.world.clock.set(self.now + days * DAY_MS)
        for person in before:
            if not self.is_banned(person):
                self.run(self.sign_in(person))

    async def sign_in(self, person: Person) -> None:
        """Give a user a new login token after a ban ended."""
        from hubbub.server.core import auth

        actor = person.actor
        actor.token = await self.world.write(
            lambda call: auth.issue(call.tx, kind="user", user_id=actor.id, now=call.now_ms, ids=call.ids)
        )

    # Invariants

    @invariant()
    def no_token_outlives_its_link(self) -> None:
        async def look() -> None:
            good = dict(self.texts())
            for text, owner in good.items():
                actor = await self.world.app.auth.find_by_token(text)
                assert actor is not None, "a good token was refused"
                assert actor.user_id == owner, "a token opens a foreign account"
            for text in self.dead:
                assert await self.world.app.auth.find_by_token(text) is None, "a token outlived its link"

        if self.people:
            self.run(look())

    @invariant()
    def no_identity_is_lost_and_no_account_is_orphaned(self) -> None:
        def look(call: Call) -> None:
            sql = "SELECT provider_user_id, user_id FROM external_identities WHERE family_id = ?"
            assert dict(call.tx.all(sql, self.head.id)) == self.holders
            sql = "SELECT user_id FROM provisional_accounts WHERE family_id = ?"
            assert {row[0] for row in call.tx.all(sql, self.head.id)} == set(self.provisional)
            for user_id in self.seen:
                row = users.find(call.tx, user_id)
                if user_id in self.provisional:
                    assert row is not None
                    assert row.flags & UserFlags.PROVISIONAL_ACCOUNT
                elif row is not None:
                    assert not row.flags & UserFlags.PROVISIONAL_ACCOUNT

        if self.people:
            self.run(self.world.write(look))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Return a function that runs coroutines on a loop owned by this test."""
    with asyncio.Runner() as made:
        yield made


def test_links_in_any_order(runner: asyncio.Runner) -> None:
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))

    async def begin() -> World:
        await app.start()
        return World(app, aiohttp.ClientSession())

    async def finish(world: World) -> None:
        await world.client.close()
        await app.stop()

    world = runner.run(begin())
    Links.world, Links.runner = world, runner
    try:
        run_state_machine_as_test(
            Links,
            settings=settings(
                max_examples=40,
                stateful_step_count=25,
                deadline=None,
                # Report the first failure at once: shrinking takes minutes.
                phases=(Phase.explicit, Phase.generate),
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )
    finally:
        runner.run(finish(world))
