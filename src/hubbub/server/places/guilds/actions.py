"""Create, change, suspend and delete guilds, and complete their import: store, audit and publish."""

from collections.abc import Iterable, Sequence
from typing import Any

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction, GuildFeature
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import guilds as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience, UserAudience
from hubbub.server.places import roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import ports, rules, store, views
from hubbub.server.places.guilds.contents import initial_contents
from hubbub.server.places.guilds.signals import FeaturesRemoved, GuildDeleting, GuildImported, GuildSuspended
from hubbub.server.places.guilds.store import GuildRow, SuspensionRow

_AUDIENCE_SIZE_MAX = 1000
"""Maximum number of members in the audience of one GUILD_CREATE or GUILD_DELETE event."""

_UNAUDITED_FIELDS = frozenset({"id", "roles", "emojis", "stickers", "nsfw"})
"""Fields of a guild that are not compared for the audit log: other slices audit them, or they are constant or derived."""


def create(
    call: Call,
    *,
    owner_id: int,
    name: str,
    guild_id: GuildId | None = None,
    contents: initial_contents.InitialContents | None = None,
    features: list[str] | None = None,
    **settings: Any,
) -> GuildRow:
    """Create a guild with its roles, channels and owner.

    `guild_id` is generated if None. `contents` are the initial roles and channels; None means the default contents.
    `settings` are columns of the guild. The call needs no actor, so that a world can be loaded without a caller."""
    guild_id = guild_id or call.new_id(GuildId)
    contents = contents or initial_contents.default_contents(call)
    row = GuildRow(
        id=guild_id,
        name=name,
        owner_id=owner_id,
        features=codec.encode(sorted(features or ())).decode(),
        system_channel_id=contents.system_channel_id,
        afk_channel_id=contents.afk_channel_id,
        member_count=1,
    )._replace(**settings)
    ports.check_names(call, (row.name, row.description or "", *(channel.name for channel in contents.channels)))
    store.insert(call.tx, row)
    everyone_role = roles.RoleRow(guild_id, guild_id, "@everyone", contents.everyone_permissions, position=0)
    roles.insert_many(call.tx, [everyone_role, *(role._replace(guild_id=guild_id) for role in contents.roles)])
    ports.insert_channels(call, guild_id, contents.channels, contents.overwrites)
    ports.insert_owner(call, guild_id, owner_id)
    # The gateway builds each session's own GUILD_CREATE from the guild's state.
    call.tx.emit(wire.GUILD_CREATE, {"id": guild_id}, UserAudience.of(owner_id))
    return row


def complete_import(call: Call, guild_id: GuildId, owner_id: UserId) -> None:
    """Count the members of an imported guild and publish the guild to its owner, who is a member already.

    Remove the boost tier and the features that only operators grant: an archive must not grant them."""
    row = store.find(call.tx, guild_id)
    if row is not None:
        kept_features = [name for name in row.feature_names if name in rules.IMPORTED_FEATURES]
        restricted_row = row._replace(
            features=codec.encode(kept_features).decode(), premium_tier=0, premium_subscription_count=0
        )
        store.update(call.tx, row, restricted_row)
    store.recount_members(call.tx, guild_id)
    call.notify(GuildImported(guild_id, owner_id))
    call.tx.emit(wire.GUILD_CREATE, {"id": guild_id}, UserAudience.of(owner_id))


def update(call: Call, before: GuildRow, after: GuildRow, extra_changes: Sequence[AuditLogChange] = ()) -> wire.Guild:
    """Store, audit and publish a changed guild, and return it.

    `extra_changes` are added to the audit log entry, for example changes of the welcome screen. They are recorded even if
    the guild itself is unchanged."""
    role_rows = roles.list_guild_roles(call.tx, before.id)
    guild = views.guild(call.tx, after, role_rows, now_ms=call.now_ms)
    audit_changes = list(extra_changes)
    if after != before:
        if (after.name, after.description) != (before.name, before.description):
            ports.check_names(call, (after.name, after.description or ""))
        store.update(call.tx, before, after)
        previous_guild = views.guild(call.tx, before, role_rows, now_ms=call.now_ms)
        audited_fields = [key for key in guild.__struct_fields__ if key not in _UNAUDITED_FIELDS]
        audit_changes = [*audit.differences(previous_guild, guild, audited_fields), *extra_changes]
        publish_update(call, guild)
    if audit_changes:
        audit.record(call, before.id, AuditLogAction.GUILD_UPDATE, target_id=before.id, changes=audit_changes)
    return guild


def set_tier_and_features(
    call: Call,
    before: GuildRow,
    *,
    premium_tier: int | None = None,
    features_to_add: Iterable[str] = (),
    features_to_remove: Iterable[str] = (),
) -> GuildRow:
    """Set a guild's premium tier, and add or remove features, at the request of an operator.

    `premium_tier` is unchanged if None. A guild that loses VANITY_URL also loses its vanity code. The change is audited
    and published."""
    after = before
    if premium_tier is not None:
        after = after._replace(premium_tier=premium_tier)
    for feature in features_to_add:
        after = store.with_feature(after, feature, True)
    removed_features = frozenset(features_to_remove) & frozenset(before.feature_names)
    for feature in removed_features:
        after = store.with_feature(after, feature, False)
    if GuildFeature.VANITY_URL in removed_features:
        after = after._replace(vanity_url_code=None)
    rules.require_community_channels(before, after)
    update(call, before, after)
    if removed_features:
        call.notify(FeaturesRemoved(GuildId(before.id), removed_features))
    return after


def publish_update(call: Call, guild: wire.Guild) -> None:
    """Publish a changed guild to its members."""
    call.tx.emit(wire.GUILD_UPDATE, guild, GuildAudience(guild.id), refresh="guild")


def suspend(call: Call, row: GuildRow, suspension: SuspensionRow, reason: str) -> None:
    """Suspend a guild or change its suspension. The guild becomes unavailable to its members (decisions/0125)."""
    store.upsert_suspension(call.tx, suspension, reason)
    if row.suspension_reason is None:
        call.notify(GuildSuspended(GuildId(row.id)))
        _publish_to_members(call, row, wire.GUILD_DELETE, wire.UnavailableGuild(id=GuildId(row.id), unavailable=True))


def unsuspend(call: Call, row: GuildRow) -> None:
    """Lift the suspension of a guild, which becomes available to its members."""
    store.delete_suspension(call.tx, row.id)
    # The gateway builds each session's own GUILD_CREATE from the guild's state.
    _publish_to_members(call, row, wire.GUILD_CREATE, wire.UnavailableGuild(id=GuildId(row.id), unavailable=False))


def _publish_to_members(call: Call, row: GuildRow, event: Event[Any], payload: wire.UnavailableGuild) -> None:
    encoded_payload = codec.encode(payload)
    for batch in batches(store.list_member_ids(call.tx, row.id), _AUDIENCE_SIZE_MAX):
        call.tx.emit(event, encoded_payload, UserAudience.of(*batch))


def delete(call: Call, row: GuildRow) -> None:
    """Delete a guild and publish its deletion to all members."""
    member_ids = store.list_member_ids(call.tx, row.id)
    call.notify(GuildDeleting(GuildId(row.id)))
    roles.delete_guild_roles(call.tx, row.id)
    ports.delete_guild_contents(call, row.id)
    store.delete(call.tx, row.id)
    payload = codec.encode(wire.UnavailableGuild(id=GuildId(row.id)))
    for batch in batches(member_ids, _AUDIENCE_SIZE_MAX):
        call.tx.emit(wire.GUILD_DELETE, payload, UserAudience.of(*batch))
