"""Archives contain every table of a guild, and their documentation names every field."""

import re

from hubbub.server.composition import SLICES
from hubbub.server.core import migrations
from hubbub.server.core.archives import ColumnKind
from hubbub.server.transfer.records import CODECS
from tests.contract.tables import SOURCE

PAGE = SOURCE.parent.parent / "docs" / "moving.md"

NOT_ARCHIVED = {
    "activity_instances": "running activities",
    "audit_log": "actions of people of this server",
    "channel_notification_settings": "settings of users of this server",
    "command_permissions": "applications of this server",
    "commands": "applications of this server",
    "crossposts": "copies in other guilds",
    "entitlements": "purchases on this server",
    "ephemeral_messages": "expire within minutes",
    "guild_suspensions": "decisions of operators of this server",
    "guild_templates": "the code belongs to this server",
    "imports": "imports on this server",
    "join_requests": "open requests of users of this server",
    "linked_roles": "applications of this server",
    "mention_counts": "expire within minutes",
    "mentions": "derived from messages",
    "message_files": "derived from messages",
    "message_nonces": "expire within minutes",
    "moderation_decisions": "decisions of operators of this server",
    "notification_settings": "settings of users of this server",
    "placeholder_messages": "derived from messages",
    "placeholders": "imports on this server; exports contain their names",
    "purchases": "purchases on this server",
    "read_states": "state of users of this server",
    "recent_joins": "expire within an hour",
    "report_cases": "reports to operators of this server",
    "search_builds": "the index is built on each server",
    "search_changes": "the index is built on each server",
    "search_documents": "the index is built on each server",
    "search_guilds": "the index is built on each server",
    "slowmodes": "expire within hours",
    "stage_instances": "running stages",
    "subscriptions": "purchases on this server",
    "vanity_urls": "the code belongs to this server",
    "voice_channels": "running calls",
    "voice_states": "running calls",
    "widget_invites": "the code belongs to this server",
}
"""Tables with rows of guilds, channels or messages that an archive does not contain, with the reason."""

_TABLE_PATTERN = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\)", re.DOTALL)


def test_every_table_of_a_guild_is_archived_or_has_a_reason() -> None:
    archived_tables = {table.name for resource in SLICES for table in resource.archive}
    texts = [path.read_text() for path in sorted(migrations.DIRECTORY.glob("*.sql"))]
    tables = dict(match for text in texts for match in _TABLE_PATTERN.findall(text))
    guild_tables = {
        name
        for name, columns in tables.items()
        if re.search(r"\b(guild_id|channel_id|message_id)\b", columns) and name not in _PRIVATE_TABLES
    }

    assert guild_tables - archived_tables == NOT_ARCHIVED.keys()


_PRIVATE_TABLES = {
    "activity_participants",
    "authorization_codes",
    "direct_messages",
    "game_invites",
    "interactions",
    "lobby_messages",
    "message_moderation",
    "payments",
    "private_call_rings",
    "private_calls",
    "recipients",
    "users",
    "voice_tickets",
}
"""Tables of users, games and private channels."""


def test_the_documentation_names_every_field_of_an_archive() -> None:
    sections = dict(
        re.findall(r"^#{3,4} `(\w+)(?:\.jsonl)?`.*?\n(.*?)(?=^#|\Z)", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    )
    expected = {
        member.table.name: {name for name, _ in member.columns}
        for codec in CODECS.values()
        for member in (codec, *codec.children)
    }

    assert {name: set(re.findall(r"`(\w+)`", text)) for name, text in sections.items()} == expected


def test_archives_contain_no_tokens() -> None:
    names = {name for codec in CODECS.values() for member in (codec, *codec.children) for name, _ in member.columns}

    assert names.isdisjoint({"salt", "token", "token_hash", "password_hash", "email", "hash"})


def test_rows_of_a_table_with_children_have_an_id() -> None:
    parents = [codec.table for codec in CODECS.values() if codec.children]

    assert {table.columns["id"].kind for table in parents} == {ColumnKind.ID}
