"""The merged presence of a bot with many sessions."""

from hypothesis import given
from hypothesis import strategies as st

from hubbub.server.core.presences import HIDDEN_STATUSES, PLATFORM_VIEW, Presence, Presences, SessionPresence

BOT_ID = 5

updates = st.tuples(
    st.integers(1, 6),
    st.sampled_from(["web", "mobile"]),
    st.sampled_from(["online", "idle", "invisible", None]),
    st.integers(1, 3),
)
"""A session, its device, its status (None if it ends) and its activity."""


@given(st.lists(updates, max_size=40))
def test_presence_of_a_bot_is_that_of_its_latest_visible_session(
    changes: list[tuple[int, str, str | None, int]],
) -> None:
    presences = Presences()
    sessions: dict[str, SessionPresence] = {}
    for number, device, status, activity_number in changes:
        session_id = f"session {number}"
        sessions.pop(session_id, None)
        before = presences.find(BOT_ID)
        if status is None:
            views = presences.remove(BOT_ID, session_id)
        else:
            sessions[session_id] = SessionPresence(
                user_id=BOT_ID,
                session_id=session_id,
                device=device,
                status=status,
                activities=[{"type": 0, "name": f"game {activity_number}"}],
                is_bot=True,
            )
            views = presences.update(sessions[session_id])
        visible = [session for session in sessions.values() if session.status not in HIDDEN_STATUSES]
        expected = None
        if visible:
            expected = Presence(
                user_id=BOT_ID,
                status=visible[-1].status,
                activities=visible[-1].activities,
                client_status={session.device: session.status for session in visible},
            )
        assert presences.find(BOT_ID) == expected
        assert views == (frozenset({PLATFORM_VIEW}) if before != expected else frozenset())
        assert presences.is_bot(BOT_ID) == bool(sessions)
        assert presences.session_count(BOT_ID) == len(sessions)
        assert presences.is_connected(BOT_ID, excluding=session_id) == any(each != session_id for each in sessions)
