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
from hubbub.server.play.interactions.requests.options import EntityReference
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
_OMITTED_MEMBER_KEYS: Final = ("user", "deaf", "mute")
"""Fields that resolved members do not have."""


class Resolver:
    """Resolver of the IDs that one interaction refers to."""

    def __init__(
        self, call: Call, channel_access: ChannelAccess, bot_access: GuildAccess | None, invoker: messages.Author
    ) -> None:
        self.call = call
        self.channel_access = channel_access
        """The invoking user's permissions in the channel."""
        self.bot_access = bot_access
        """The bot's permissions in the guild, or None if it is not a member."""
        self.invoker = invoker
        """The invoking user as a message author."""
        self.resolved = ResolvedData()
        self.attachment_ids: dict[int, AttachmentId] = {}
        """IDs of the uploaded attachments, by upload index."""

    def resolve(
        self,
        references: Sequence[EntityReference],
        form: errors.FormErrors,
        attachment_requests: Sequence[AttachmentRequest] = (),
    ) -> None:
        """Resolve all references, and add an error to `form` for each ID that does not exist or has the wrong type.

        `attachment_requests` describe the uploaded files, such as their names."""
        user_references = [reference for reference in references if reference.kind in ("user", "mentionable")]
        role_references = [reference for reference in references if reference.kind in ("role", "mentionable")]
        found_role_ids = self._resolve_roles([reference.id for reference in role_references])
        found_user_ids = self._resolve_users([reference.id for reference in user_references])
        found_ids = {"user": found_user_ids, "role": found_role_ids, "mentionable": found_user_ids | found_role_ids}
        for reference in references:
            if reference.kind in found_ids:
                if reference.id not in found_ids[reference.kind]:
                    form.add(reference.path, *errors.not_snowflake(reference.id))
            elif reference.kind == "channel":
                self._resolve_channel(reference, form)
            elif reference.kind == "attachment":
                self._resolve_attachment(reference, form, attachment_requests)

    def resolve_user(self, user_id: int) -> bool:
        """Resolve one user; return whether the user exists."""
        return user_id in self._resolve_users([user_id])

    def _resolve_users(self, user_ids: list[int]) -> set[int]:
        """Resolve users, and in a guild their members; return the IDs of the users that exist."""
        rows_by_id = users.find_many(self.call.tx, user_ids) if user_ids else {}
        if not rows_by_id:
            return set()
        resolved_users = self.resolved.users or {}
        resolved_users.update({str(int(row.id)): users.user_view(row) for row in rows_by_id.values()})
        self.resolved.users = resolved_users
        if self.channel_access.guild is not None:
            memberships = members.find_many(self.call.tx, self.channel_access.guild.guild_id, rows_by_id)
            resolved_members = self.resolved.members or {}
            for user_id, membership in memberships.items():
                view = members.views.partial_member(membership.row, membership.role_ids)
                view.permissions = Permissions(self._member_permissions(user_id))
                resolved_members[str(int(user_id))] = _fields_without(view, _OMITTED_MEMBER_KEYS)
            if resolved_members:
                self.resolved.members = resolved_members
        return set(rows_by_id)

    def _member_permissions(self, user_id: int) -> int:
        """Return a member's permissions in the channel of the interaction."""
        if self.channel_access.guild is None:
            return 0
        standing = access.find_guild_standing(
            self.call.tx, self.call.now_ms, self.channel_access.guild.guild_id, user_id
        )
        if standing is None:
            return 0
        permissions = access.permissions_in(self.call.tx, standing, self.channel_access.channel.overwrites_channel_id)
        return access.build_channel_standing(
            self.call.tx, standing, self.channel_access.channel, permissions
        ).permissions

    def _resolve_roles(self, role_ids: list[int]) -> set[int]:
        """Resolve roles; return the IDs of the roles that exist."""
        if not role_ids or self.channel_access.guild is None:
            return set()
        rows = roles.find_many(self.call.tx, self.channel_access.guild.guild_id, role_ids)
        if rows:
            self.resolved.roles = {
                **(self.resolved.roles or {}),
                **{str(int(role_id)): roles.role(row, self.call.now_ms) for role_id, row in rows.items()},
            }
        return set(rows)

    def _resolve_channel(self, reference: EntityReference, form: errors.FormErrors) -> None:
        try:
            target_access = access.get_channel_standing(self.call, reference.id)
        except errors.ApiError:
            form.add(reference.path, *errors.not_snowflake(reference.id))
            return
        if target_access.channel.guild_id != self.channel_access.channel.guild_id:
            form.add(reference.path, *errors.not_snowflake(reference.id))
            return
        if reference.channel_types and target_access.channel.type not in reference.channel_types:
            form.add(reference.path, *errors.choices(list(reference.channel_types)))
            return
        self.resolved.channels = {**(self.resolved.channels or {}), str(reference.id): self.channel_view(target_access)}

    def channel_view(self, target_access: ChannelAccess) -> dict[str, Any]:
        """Return a channel with the permissions of the invoking user and of the app."""
        row = channels.find(self.call.tx, target_access.channel.id)
        if row is None:
            raise errors.UNKNOWN_CHANNEL()
        fields = codec.decode(codec.encode(channels.views.any_channel(row)), dict)
        view = {key: fields[key] for key in _CHANNEL_KEYS if key in fields}
        view["permissions"] = str(int(target_access.permissions))
        if self.bot_access is not None and changes.RESOLVED_CHANNEL_PERMISSIONS.is_active(self.call.now_ms):
            bot_permissions = access.permissions_in(
                self.call.tx, self.bot_access, target_access.channel.overwrites_channel_id
            )
            view["app_permissions"] = str(
                int(
                    access.build_channel_standing(
                        self.call.tx, self.bot_access, target_access.channel, bot_permissions
                    ).permissions
                )
            )
        return view

    def _resolve_attachment(
        self, reference: EntityReference, form: errors.FormErrors, attachment_requests: Sequence[AttachmentRequest]
    ) -> None:
        upload = next((candidate for candidate in self.call.files if candidate.index == reference.id), None)
        if upload is None:
            form.add(reference.path, *errors.attachment_not_found())
            return
        if upload.size > messages.validation.file_bytes_max(self.call, self.invoker):
            raise errors.FILE_TOO_LARGE()
        request = next((candidate for candidate in attachment_requests if candidate.id == reference.id), None)
        attachment = attachments.build_attachment(
            upload, request, is_spoiler_supported=changes.ATTACHMENT_SPOILER.is_active(self.call.now_ms)
        )
        if reference.file_types and not matches_file_types(attachment.filename, reference.file_types):
            form.add(reference.path, *errors.choices(list(reference.file_types)))
            return
        # Create the signing key if it does not exist yet, because the signer only reads it.
        cdn_urls.find_or_create_signing_key(self.call.tx)
        view: Attachment = attachments.AttachmentSigner(self.call).build_view(
            self.channel_access.channel.id, attachment, is_ephemeral=True
        )
        self.attachment_ids[reference.id] = attachment.id
        self.resolved.attachments = {**(self.resolved.attachments or {}), str(int(attachment.id)): view}


def _fields_without(model: msgspec.Struct, keys: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(model, enc_hook=codec.encode_hook)
    return {key: value for key, value in fields.items() if key not in keys}
