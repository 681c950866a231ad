"""Rendering of messages on pages without JavaScript."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol.enums import USER_MESSAGE_TYPES, MessageType
from hubbub.protocol.ids import ChannelId, MessageId, Timestamp, UserId
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.users import User
from hubbub.server.transports.web.message_views import MentionNames, split_text, system_message_text

NAMES = MentionNames(users={1: "bob"}, roles={2: "mods"}, channels={3: "ideas"}, guild_segment="9")


def make_message(kind: int, content: str = "", *mentioned: str) -> Message:
    """Return a message of this type by bob, which mentions these users."""
    return Message(
        id=MessageId(5),
        channel_id=ChannelId(6),
        type=kind,
        content=content,
        author=User(id=UserId(1), username="bob"),
        mentions=[User(id=UserId(10 + index), username=name) for index, name in enumerate(mentioned)],
        mention_roles=[],
        mention_everyone=False,
        pinned=False,
        embeds=[],
        attachments=[],
        components=[],
        timestamp=Timestamp("2026-01-01T00:00:00+00:00"),
        edited_timestamp=None,
        flags=0,
    )


@pytest.mark.parametrize(
    ("text", "expected_pieces"),
    [
        ("plain", [("plain", "plain", "")]),
        ("", []),
        ("<@1><@!1>", [("@bob", "mention", ""), ("@bob", "mention", "")]),
        ("<@&2> <@&4>", [("@mods", "mention", ""), (" ", "plain", ""), ("@unknown role", "mention", "")]),
        ("<#3>", [("#ideas", "channel", "/app/channels/9/3")]),
        ("<a:wave:7>!", [(":wave:", "mention", ""), ("!", "plain", "")]),
        ("</play now:7>", [("/play now", "mention", "")]),
        ("<t:0>", [("1970-01-01T00:00:00+00:00", "time", "")]),
        ("<t:9999999999999>", [("<t:9999999999999>", "plain", "")]),
        ("javascript:alert(1)", [("javascript:alert(1)", "plain", "")]),
        ("https://", [("https://", "plain", "")]),
        ("(http://a.example/b).", [("(", "plain", ""), ("http://a.example/b",) * 2, (").", "plain", "")]),
        ("HTTPS://A.example/(b)", [("HTTPS://A.example/(b)",) * 2]),
    ],
)
def test_text_is_split_into_pieces(text: str, expected_pieces: list[tuple[str, ...]]) -> None:
    expected = [(piece[0], "link", piece[1]) if len(piece) == 2 else piece for piece in expected_pieces]

    assert split_text(text, NAMES) == expected


@given(st.text(alphabet="<>@!&#:/.()ht ps1a\n\"'", max_size=60))
def test_pieces_keep_all_text_and_link_only_http(text: str) -> None:
    pieces = split_text(text, MentionNames())

    for piece in pieces:
        assert piece.kind != "link" or piece.href.lower().startswith(("http://", "https://"))
        assert piece.kind not in ("plain", "link") or piece.text in text
    if all(piece.kind in ("plain", "link") for piece in pieces):
        assert "".join(piece.text for piece in pieces) == text


def test_every_system_message_type_has_a_text() -> None:
    for kind in set(MessageType) - USER_MESSAGE_TYPES:
        assert "cannot display" not in system_message_text(make_message(kind, "name")), kind
    assert system_message_text(make_message(999)) == "bob sent a message that this page cannot display."


@pytest.mark.parametrize(
    ("kind", "content", "mentioned", "text"),
    [
        (MessageType.RECIPIENT_ADD, "", ("carol",), "bob added carol."),
        (MessageType.RECIPIENT_ADD, "", ("bob",), "bob joined the group."),
        (MessageType.RECIPIENT_REMOVE, "", (), "bob left the group."),
        (MessageType.CHANNEL_NAME_CHANGE, "", (), "bob removed the name."),
        (MessageType.STAGE_START, "Tides", (), "bob started the stage: Tides"),
    ],
)
def test_system_messages_name_users_and_objects(kind: int, content: str, mentioned: tuple[str, ...], text: str) -> None:
    assert system_message_text(make_message(kind, content, *mentioned)) == text
