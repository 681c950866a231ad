"""Every stored column with IDs of users is declared with its deletion and its place in the data export."""

import importlib
from collections import Counter

from hubbub.server.core.personal_data import Erasure
from tests.contract.tables import display_path, slice_files
from tests.contract.test_table_owners import CORE_TABLES
from tests.server.personal_rows import read_schema
from tools import personal_data

NON_USER_COLUMNS = frozenset(
    [
        "afk_channel_id",
        "announcement_id",
        "answer_id",
        "application_id",
        "bot_id",
        "call_id",
        "case_id",
        "channel_id",
        "credential_id",
        "custom_id",
        "decision_id",
        "emoji_id",
        "entitlement_id",
        "entity_id",
        "event_id",
        "exception_id",
        "family_id",
        "group_id",
        "guild_id",
        "import_id",
        "instance_id",
        "job_id",
        "last_message_id",
        "launch_id",
        "linked_channel_id",
        "lobby_id",
        "message_id",
        "new_id",
        "old_id",
        "original_id",
        "parent_id",
        "party_id",
        "primary_guild_id",
        "provider_id",
        "provider_user_id",
        "public_updates_channel_id",
        "renewal_sku_id",
        "role_id",
        "rules_channel_id",
        "safety_alerts_channel_id",
        "scheduled_event_id",
        "server_id",
        "session_id",
        "sku_id",
        "source_channel_id",
        "source_guild_id",
        "source_message_id",
        "subscription_id",
        "system_channel_id",
        "target_application_id",
        "team_id",
        "thread_id",
        "token_id",
        "webhook_channel_id",
        "webhook_id",
        "widget_channel_id",
        "leased_by",
    ]
)
"""Names of columns whose values do not name users, or name bots that belong to an application."""

NON_USER_TARGETS = {"command_permissions.target_id"}
"""Columns whose values do not name users, although columns of other tables with this name are."""


def user_columns() -> set[str]:
    """Return every column of the schema whose name allows IDs of users."""
    return {
        f"{table}.{column.name}"
        for table, columns in read_schema().items()
        for column in columns
        if column.name.endswith(("_id", "_by")) and column.name not in NON_USER_COLUMNS
    } - NON_USER_TARGETS


def test_every_column_with_ids_of_users_is_declared() -> None:
    declared_columns = [column.column for column in personal_data.collect()]

    assert set(declared_columns) - {"users.id"} == user_columns()
    assert {name for name, count in Counter(declared_columns).items() if count > 1} == set()


def test_the_names_of_other_columns_exist() -> None:
    names = {column.name for columns in read_schema().values() for column in columns}

    assert NON_USER_COLUMNS - names == set()


def test_the_owner_of_a_table_declares_its_columns() -> None:
    for path in slice_files():
        if path.name == "store.py":
            module = importlib.import_module(display_path(path).removesuffix(".py").replace("/", "."))
            declared_tables = {column.table for column in getattr(module, "PERSONAL_DATA", ())}
            assert declared_tables <= set(getattr(module, "TABLES", ())), module.__name__
    assert {column.table for column in personal_data.personal_data.PERSONAL_DATA} <= CORE_TABLES


def test_every_declaration_has_its_reasons() -> None:
    for column in personal_data.collect():
        assert bool(column.export) != bool(column.omission), column.column
        if column.erasure not in {Erasure.DELETED, Erasure.WRITTEN}:
            assert column.reason, column.column


def test_the_page_of_personal_data_is_current() -> None:
    assert personal_data.PAGE.read_text(encoding="utf-8") == personal_data.generate_page(), (
        "run `python -m tools.personal_data`"
    )
