"""HTTP handlers for guild templates. Changes of templates have no events and no audit log entries (spec/http.md#4.4)."""

import secrets
import string
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.resources import templates as wire
from hubbub.protocol.resources.guilds import Guild
from hubbub.server.core.call import Call
from hubbub.server.core.personal_data import export_row
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import guilds, roles
from hubbub.server.places.templates import snapshots, store
from hubbub.server.places.templates.store import TemplateRow

CODE_LENGTH: Final = 12

_DEFAULT_SETTING_FIELDS: Final = tuple(
    name for name in wire.TemplateChannel.__struct_fields__ if name.startswith("default_")
)
"""Fields of a channel with defaults for new threads and posts."""

_CODE_CHARACTERS: Final = string.digits + string.ascii_letters


@handles(wire.GET_GUILD_TEMPLATE, long=True)
def get_guild_template(call: Call, code: str) -> wire.Template:
    """Get a guild template by its code."""
    row = store.find(call.tx, code)
    if row is None:
        raise errors.UNKNOWN_GUILD_TEMPLATE()
    return _template_view(call, row)


@handles(wire.CREATE_GUILD_FROM_TEMPLATE)
def create_guild_from_template(call: Call, code: str, body: wire.CreateGuildFromTemplate) -> Guild:
    """Create a guild from a template."""
    template = store.find(call.tx, code)
    if template is None:
        raise errors.UNKNOWN_GUILD_TEMPLATE()
    guilds.creation.require_can_create(call)
    name = guilds.creation.clean_name(body.name)
    settings: dict[str, Any] = {}
    if body.icon:
        guilds.creation.require_image_features("icon", body.icon, ())
        settings["icon"] = body.icon.hash
    if call.actor.is_bot:
        settings["application_id"] = call.actor.application_id
    row = snapshots.create_guild(call, codec.decode(template.snapshot, wire.TemplateGuild), name, settings)
    store.increment_usage_count(call.tx, code)
    return guilds.guild(call.tx, row, roles.list_guild_roles(call.tx, row.id), now_ms=call.now_ms)


@handles(wire.LIST_GUILD_TEMPLATES, long=True)
def list_guild_templates(call: Call, guild_id: GuildId) -> list[wire.Template]:
    """List guild templates.

    A guild has at most one."""
    row = store.find_guild_template(call.tx, guild_id)
    return [] if row is None else [_template_view(call, row)]


@handles(wire.CREATE_GUILD_TEMPLATE)
def create_guild_template(call: Call, guild_id: GuildId, body: wire.CreateTemplate) -> wire.Template:
    """Create a guild template.

    The template is a snapshot of the guild's roles, channels and settings."""
    if store.find_guild_template(call.tx, guild_id) is not None:
        raise errors.GUILD_ALREADY_HAS_TEMPLATE()
    row = TemplateRow(
        code="".join(secrets.choice(_CODE_CHARACTERS) for _ in range(CODE_LENGTH)),
        guild_id=guild_id,
        name=body.name,
        description=body.description or None,
        usage_count=0,
        creator_id=call.user_id,
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
        snapshot=_take_snapshot(call, guild_id),
    )
    store.insert(call.tx, row)
    return _template_view(call, row)


@handles(wire.SYNC_GUILD_TEMPLATE)
def sync_guild_template(call: Call, guild_id: GuildId, code: str) -> wire.Template:
    """Sync a guild template.

    The guild's current structure replaces the stored snapshot."""
    row = _require_template(call, guild_id, code)._replace(
        snapshot=_take_snapshot(call, guild_id), updated_ms=call.now_ms
    )
    store.update(call.tx, row)
    return _template_view(call, row)


@handles(wire.UPDATE_GUILD_TEMPLATE)
def update_guild_template(call: Call, guild_id: GuildId, code: str, body: wire.UpdateTemplate) -> wire.Template:
    """Update a guild template.

    Name and description can be changed."""
    row = _require_template(call, guild_id, code)
    if body.name is not UNSET:
        row = row._replace(name=body.name)
    if body.description is not UNSET:
        row = row._replace(description=body.description or None)
    store.update(call.tx, row)
    return _template_view(call, row)


@handles(wire.DELETE_GUILD_TEMPLATE)
def delete_guild_template(call: Call, guild_id: GuildId, code: str) -> wire.Template:
    """Delete a guild template.

    Guilds created from it are not affected."""
    row = _require_template(call, guild_id, code)
    view = _template_view(call, row)
    store.delete(call.tx, row.code)
    return view


def _require_template(call: Call, guild_id: int, code: str) -> TemplateRow:
    row = store.find(call.tx, code)
    if row is None or row.guild_id != guild_id:
        raise errors.UNKNOWN_GUILD_TEMPLATE()
    return row


def _take_snapshot(call: Call, guild_id: int) -> str:
    """Return the guild's current structure as JSON of `TemplateGuild`."""
    return codec.encode(snapshots.take_snapshot(call.tx, guild_id)).decode()


def _load_snapshot(call: Call, row: TemplateRow) -> wire.TemplateGuild:
    """Return the stored snapshot with the fields that exist at the time of the call."""
    template_guild = codec.decode(row.snapshot, wire.TemplateGuild)
    if not changes.ROLE_GRADIENTS.is_active(call.now_ms):
        # spec/dated-changes.md#3: before gradients a role had `color` only; snapshots always store `colors`.
        for role in template_guild.roles:
            role.colors = UNSET
    # Snapshots do not contain the field.
    template_guild.icon_hash = None
    for channel in template_guild.channels:
        # The library hikari fails if a default is null. Stored snapshots keep null, because a template is dirty if its stored
        # form differs.
        for field in _DEFAULT_SETTING_FIELDS:
            if getattr(channel, field) is None:
                setattr(channel, field, UNSET)
    return template_guild


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the templates that a user created for the data export, without their copies of guilds."""
    rows = store.list_by_creator(call.tx, user_id)
    return {"guild_templates": [export_row(row, "creator_id", "snapshot") for row in rows]}


def _template_view(call: Call, row: TemplateRow) -> wire.Template:
    creator = users.find(call.tx, row.creator_id)
    return wire.Template(
        code=row.code,
        name=row.name,
        description=row.description,
        usage_count=row.usage_count,
        creator_id=UserId(row.creator_id),
        creator=None if creator is None else users.user_view(creator),
        created_at=codec.timestamp(row.created_ms),
        updated_at=codec.timestamp(row.updated_ms),
        source_guild_id=GuildId(row.guild_id),
        serialized_source_guild=_load_snapshot(call, row),
        is_dirty=True if row.snapshot != _take_snapshot(call, row.guild_id) else None,
    )
