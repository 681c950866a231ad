"""Hooks of the slices that run when a session begins or ends."""

import logging
from collections.abc import Callable
from typing import Final

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Actor
from hubbub.server.core.presences import SessionPresence
from hubbub.server.core.store import Tx
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.session import GatewaySession

log = logging.getLogger(__name__)

ORPHAN_AGE_MS: Final = 120_000
"""Minimum age in milliseconds before a stored session that no node has is treated as orphaned."""


class SessionHooks:
    """The hooks of all slices."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context
        self._ended_hooks = [
            resource_slice.session_ended
            for resource_slice in context.slices
            if resource_slice.session_ended is not None
        ]
        self._began_hooks = [
            resource_slice.session_began
            for resource_slice in context.slices
            if resource_slice.session_began is not None
        ]
        self._stored_session_hooks = [
            resource_slice.stored_sessions
            for resource_slice in context.slices
            if resource_slice.stored_sessions is not None
        ]

    async def run_began(self, session: GatewaySession) -> None:
        """Run the slices' `session_began` hooks for an OAuth2 session, before READY is read."""
        if session.actor.kind != "bearer":
            return

        def run_hooks(tx: Tx) -> None:
            call = self._context.hook_call(tx, session.actor, session.id)
            for session_began in self._began_hooks:
                session_began(call, session.user_id, session.id)

        await self._context.db.write(run_hooks)

    async def end_orphans(self, exists: Callable[[int, str], bool]) -> None:
        """Clean up after stored sessions that no node has; `exists` returns whether a node has a user's session."""

        def read_stored_sessions(tx: Tx) -> set[tuple[int, str]]:
            before_ms = self._context.clock.now_ms() - ORPHAN_AGE_MS
            return {
                stored_session
                for stored_sessions in self._stored_session_hooks
                for stored_session in stored_sessions(tx, before_ms)
            }

        stored_ids = await self._context.db.read(read_stored_sessions, long=True)
        orphan_ids = [
            (user_id, session_id) for user_id, session_id in sorted(stored_ids) if not exists(user_id, session_id)
        ]
        if orphan_ids:
            log.warning("Ending sessions that no node has", extra={"sessions": len(orphan_ids)})
            await self.run_ended(
                [(Actor(user_id=UserId(user_id), kind="user"), session_id) for user_id, session_id in orphan_ids]
            )

    async def run_lost(self, lost_presences: list[SessionPresence]) -> None:
        """Run the slices' `session_ended` hooks for the sessions of a node that stopped responding.

        All actors have the kind "user" here, which is correct for cleanup: bots need no other cleanup than users.
        """
        await self.run_ended(
            [(Actor(user_id=UserId(presence.user_id), kind="user"), presence.session_id) for presence in lost_presences]
        )

    async def run_ended(self, ended_sessions: list[tuple[Actor, str]]) -> None:
        """Run the slices' `session_ended` hooks for pairs of an actor and a session ID."""
        if not self._ended_hooks or not ended_sessions:
            return

        def run_hooks(tx: Tx) -> None:
            for actor, session_id in ended_sessions:
                call = self._context.hook_call(tx, actor, session_id)
                for session_ended in self._ended_hooks:
                    session_ended(call, int(actor.user_id), session_id)

        try:
            await self._context.db.write(run_hooks)
        except Exception:
            log.exception("Failed to clean up after ended sessions")
