"""Paths and queries of the requests that clients send for an operation."""

import pytest

from hubbub.protocol.control.snapshots import LIST_FORKS, RESTORE_SNAPSHOT
from hubbub.protocol.control.trace import GET_TRACE, TraceQuery
from hubbub.protocol.control.worlds import LOAD_WORLD, LoadWorldQuery
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.request_paths import build_path
from hubbub.protocol.resources.reactions import ADD_MY_MESSAGE_REACTION


def test_parameters_are_quoted_and_ids_are_numbers() -> None:
    path = build_path(
        ADD_MY_MESSAGE_REACTION, {"channel_id": ChannelId(1), "message_id": MessageId(2), "emoji_name": "a/b?c"}
    )

    assert path == "/channels/1/messages/2/reactions/a%2Fb%3Fc/@me"


def test_a_query_contains_only_values() -> None:
    assert build_path(LIST_FORKS, {}) == "/forks"
    assert build_path(LOAD_WORLD, {}, LoadWorldQuery()) == "/worlds"
    query = TraceQuery(event="A&B", user_id=UserId(5))
    assert build_path(GET_TRACE, {}, query) == "/trace?event=A%26B&user_id=5&after=0"


@pytest.mark.parametrize("parameters", [{}, {"snapshot": "1"}, {"snapshot_id": "1", "fork_id": "2"}])
def test_other_parameters_than_those_of_the_path_are_rejected(parameters: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="requires the parameters"):
        build_path(RESTORE_SNAPSHOT, parameters)
