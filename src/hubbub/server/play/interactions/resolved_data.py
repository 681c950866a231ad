"""Resolve the IDs in an interaction to objects.

Resolved objects are never obfuscated, because the invoking user can see them (spec/gateway.md#9)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.ids import AttachmentId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.attachments import Attachment, AttachmentRequest, matches_file_types
from hubbub.protocol.resources.interactions import ResolvedData
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import channels, members, roles
from hubbub.server.places.standing import ChannelAccess, GuildAccess, access
from hubbub.server.play.interactions.options import EntityReference
from hubbub.server.talk import attachments, messages

# spec/webhooks-and-interactions.md#2.1; for threads also the fields that client libraries index (spec/http.md#1.16).
_CHANNEL_KEYS: Final = (
    "id",
    "name",
    "type",
    "last_message_id",
    "last_pin_timestamp",
    "nsfw",
    "parent_id",
    "guild_id",
    "flags",
    "rate_limit_per_user",
    "topic",
    "position",
    "thread_metadata",
    "owner_id",
    "member_count",
    "message_count",
    "total_message_sent",
)
_MEMBER_OMITTED: Final = ("user", "deaf", "mute")


class Resolver:
    """Resolver of the IDs that one interaction refers to."""

    def __init__(
        self, call: Call, channel_access: ChannelAccess, bot: GuildAccess | None, invoker: messages.Author
    ) -> None:
        self.call = call
        self.channel_access = channel_access
        """The invoking user's permissions in the channel."""
        self.bot = bot
        """The bot's permissions in the guild, or None if it is not a member."""
        self.invoker = invoker
        """The invoking user as a message author."""
        self.resolved = ResolvedData()
        self.uploaded: dict[int, AttachmentId] = {}
        """Attachment IDs by upload index."""

    def resolve(
        self,
        references: Sequence[EntityReference],
        form: errors.FormErrors,
        requests: Sequence[AttachmentRequest] = (),
    ) -> None:
        """Resolve all references, and add an error to `form` for each ID that does not exist."""
        user_references = [each for each in references if each.kind in ("user", "mentionable")]
        role_references = [each for each in references if each.kind in ("role", "mentionable")]
        known_roles = self._roles([each.id for each in role_references])
        known_users = self._users([each.id for each in user_references])
        known = {"user": known_users, "role": known_roles, "mentionable": known_users | known_roles}
        for each in references:
            if each.kind in known:
                if each.id not in known[each.kind]:
                    form.add(each.path, *errors.not_snowflake(each.id))
            elif each.kind == "channel":
                self._channel(each, form)
            elif each.kind == "attachment":
                self._attachment(each, form, requests)

    def resolve_user(self, user_id: int) -> bool:
        """Resolve one user and report whether it exists."""
        return user_id in self._users([user_id])

    def _users(self, user_ids: list[int]) -> set[int]:
        rows = users.find_many(self.call.tx, user_ids) if user_ids else {}
        if not rows:
            return set()
        resolved = self.resolved.users or {}
        resolved.update({str(int(row.id)): users.user(row) for row in rows.values()})
        self.resolved.users = resolved
        if self.channel_access.guild is not None:
            found = members.find_many(self.call.tx, self.channel_access.guild.guild_id, rows)
            resolved_members = self.resolved.members or {}
            for user_id, membership in found.items():
                view = members.partial_member(membership.row, membership.roles)
                view.permissions = Permissions(self._permissions(user_id))
                resolved_members[str(int(user_id))] = _fields_without(view, _MEMBER_OMITTED)
            if resolved_members:
                self.resolved.members = resolved_members
        return set(rows)

    def _permissions(self, user_id: int) -> int:
        """Return a member's permissions in the channel of the interaction."""
        if self.channel_access.guild is None:
            return 0
        standing = access.find_member(self.call.tx, self.call.now, self.channel_access.guild.guild_id, user_id)
        if standing is None:
            return 0
        bits = access.permissions_in(self.call.tx, standing, self.channel_access.channel.overwrites_channel_id)
        return access.channel_standing(self.call.tx, standing, self.channel_access.channel, bits).permissions

    def _roles(self, role_ids: list[int]) -> set[int]:
        if not role_ids or self.channel_access.guild is None:
            return set()
        rows = roles.find_many(self.call.tx, self.channel_access.guild.guild_id, role_ids)
        if rows:
            self.resolved.roles = {
                **(self.resolved.roles or {}),
                **{str(int(each)): roles.role(row, self.call.now) for each, row in rows.items()},
            }
        return set(rows)

    def _channel(self, reference: EntityReference, form: errors.FormErrors) -> None:
        try:
            target = access.channel(self.call, reference.id)
        except errors.ApiError:
            form.add(reference.path, *errors.not_snowflake(reference.id))
            return
        if target.channel.guild_id != self.channel_access.channel.guild_id:
            form.add(reference.path, *errors.not_snowflake(reference.id))
            return
        if reference.channel_types and target.channel.type not in reference.channel_types:
            form.add(reference.path, *errors.choices(list(reference.channel_types)))
            return
        self.resolved.channels = {**(self.resolved.channels or {}), str(reference.id): self.channel(target)}

    def channel(self, target: ChannelAccess) -> dict[str, Any]:
        """Return a channel with the permissions of the invoking user and of the app."""
        row = channels.find(self.call.tx, target.channel.id)
        if row is None:
            raise errors.UNKNOWN_CHANNEL()
        fields = codec.decode(codec.encode(channels.any_channel(row)), dict)
        view = {key: fields[key] for key in _CHANNEL_KEYS if key in fields}
        view["permissions"] = str(int(target.permissions))
        if self.bot is not None and changes.RESOLVED_CHANNEL_PERMISSIONS.is_active(self.call.now):
            bits = access.permissions_in(self.call.tx, self.bot, target.channel.overwrites_channel_id)
            view["app_permissions"] = str(
                int(access.channel_standing(self.call.tx, self.bot, target.channel, bits).permissions)
            )
        return view

    def _attachment(
        self, reference: EntityReference, form: errors.FormErrors, requests: Sequence[AttachmentRequest]
    ) -> None:
        upload = next((each for each in self.call.files if each.index == reference.id), None)
        if upload is None:
            form.add(reference.path, *errors.attachment_not_found())
            return
        if upload.size > messages.file_bytes_max(self.call, self.invoker):
            raise errors.FILE_TOO_LARGE()
        request = next((each for each in requests if each.id == reference.id), None)
        stored = attachments.from_upload(
            upload, request, spoiler_flag=changes.ATTACHMENT_SPOILER.is_active(self.call.now)
        )
        if reference.file_types and not matches_file_types(stored.filename, reference.file_types):
            form.add(reference.path, *errors.choices(list(reference.file_types)))
            return
        cdn_urls.get_key(self.call.tx)
        view: Attachment = attachments.AttachmentSigner(self.call).attachment(
            self.channel_access.channel.id, stored, ephemeral=True
        )
        self.uploaded[reference.id] = stored.id
        self.resolved.attachments = {**(self.resolved.attachments or {}), str(int(stored.id)): view}


def _fields_without(model: msgspec.Struct, keys: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(model, enc_hook=codec.encode_hook)
    return {key: value for key, value in fields.items() if key not in keys}
