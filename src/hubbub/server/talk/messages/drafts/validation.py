"""Validate the content of message bodies; permissions to send are checked in `rules.py`."""

from typing import Final

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import ButtonStyle, PollLayoutType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import EmojiId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.attachments import (
    ATTACHMENT_BYTES_MAX_BY_PREMIUM,
    ATTACHMENT_BYTES_MAX_BY_TIER,
    ATTACHMENTS_MAX,
    AttachmentRequest,
)
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, Embed, EmbedRequest
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.features import Feature
from hubbub.protocol.resources.polls import (
    POLL_HOURS_DEFAULT,
    CreatePoll,
    Poll,
    PollAnswer,
    PollAnswerMediaRequest,
    PollMedia,
    PollResults,
)
from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call, Upload
from hubbub.server.core.denials import PermissionDenied
from hubbub.server.identity import applications, features
from hubbub.server.places.expressions import emojis, stickers
from hubbub.server.places.standing import ChannelAccess
from hubbub.server.talk.attachments import StoredAttachment, apply_metadata, build_attachment
from hubbub.server.talk.messages import ports
from hubbub.server.talk.messages.content import drafts, json_columns, links, mentions
from hubbub.server.talk.messages.content.drafts import Draft, clean_content
from hubbub.server.talk.messages.content.records import Author, MessageRow
from hubbub.server.talk.messages.content.rich_content import components, embeds
from hubbub.server.talk.messages.content.rich_content.component_fields import ComponentReferences

__all__ = ["file_bytes_max", "check_emojis"]
"""The interface for other slices."""

MIB: Final = 1 << 20
HOUR_MS: Final = 3_600_000
LEGACY_WEBHOOK_BYTES_MAX: Final = 25 * MIB
"""Maximum size of a webhook's file in bytes before `changes.WEBHOOK_UPLOAD_10MIB` (spec/dated-changes.md#2.2)."""


def validate_create(
    call: Call, channel_access: ChannelAccess, author: Author, body: wire.CreateMessageContent
) -> Draft:
    """Return the content of a new message from its body; raise if a part is rejected."""
    if not (
        body.embeds
        or body.components
        or body.attachments
        or body.poll
        or body.flags
        or body.sticker_ids
        or body.shared_client_theme
        or call.files
    ):
        # The common case: content only.
        if body.allowed_mentions:
            form = errors.FormErrors()
            mentions.check_allowed(body.allowed_mentions, form)
            form.raise_if_any()
        return Draft(content=clean_content(body.content or None))
    draft = Draft(
        content=clean_content(body.content or None), flags=drafts.settable_flags(body.flags or 0, call.now_ms)
    )
    is_voice_message = bool(draft.flags & MessageFlags.IS_VOICE_MESSAGE)
    if call.files:
        features.require_enabled(call, Feature.UPLOADS)
    if call.files and not is_voice_message:
        channel_access.require(Permissions.ATTACH_FILES)
    if is_voice_message and not channel_access.can(Permissions.SEND_VOICE_MESSAGES):
        raise errors.VOICE_MESSAGE_NOT_ALLOWED()
    if body.poll:
        channel_access.require(Permissions.SEND_POLLS)
    if body.sticker_ids:
        draft.stickers = stickers.require_sendable(call, channel_access, body.sticker_ids)
    form = errors.FormErrors()
    mentions.check_allowed(body.allowed_mentions, form)
    if draft.flags & MessageFlags.IS_COMPONENTS_V2:
        drafts.reject_legacy_fields(body, form)
    draft.embeds = _validate_embeds(call, channel_access, body.embeds or [], form)
    references = _validate_components(call, author, body.components or [], draft, form)
    draft.files = _new_files(call, author, body.attachments or [], form)
    drafts.check_named_files(references, draft.files, form)
    if body.poll:
        draft.poll = _build_poll(call, channel_access, body.poll, form)
    draft.theme = body.shared_client_theme or None
    form.raise_if_any()
    embeds.mark_embedded_files(draft.embeds, draft.files)
    if is_voice_message:
        drafts.require_voice_message(draft)
    return draft


def validate_edit(
    call: Call, channel_access: ChannelAccess, author: Author, row: MessageRow, body: wire.UpdateMessage
) -> Draft:
    """Validate an edit of the message `row` by its author; return the resulting content."""
    extra = json_columns.extra(row)
    draft = Draft(
        content=row.content,
        flags=row.flags,
        stickers=extra.sticker_items,
        poll=extra.poll,
        theme=extra.shared_client_theme,
    )
    if call.files:
        features.require_enabled(call, Feature.UPLOADS)
        channel_access.require(Permissions.ATTACH_FILES)
    form = errors.FormErrors()
    mentions.check_allowed(body.allowed_mentions, form)
    if body.flags is not UNSET:
        draft.flags = drafts.edited_flags(row.flags, body.flags or 0, call.now_ms)
    if body.content is not UNSET:
        draft.content = clean_content(body.content)
    draft.embeds = json_columns.embeds(row)
    if body.embeds is not UNSET:
        previews = [embed for embed in draft.embeds if links.is_link_preview(embed)]
        own_embeds = _validate_embeds(call, channel_access, body.embeds or [], form)
        draft.embeds = [*own_embeds, *previews][:EMBEDS_MAX]
    if body.content is not UNSET:
        # The preview of a removed link is removed here; a job adds the previews of new links (decisions/0142).
        draft.embeds = links.filter_embeds(draft.embeds, draft.content)
    if draft.flags & MessageFlags.IS_COMPONENTS_V2:
        for field_name, field_value in (
            ("content", draft.content),
            ("embeds", draft.embeds),
            ("sticker_ids", draft.stickers),
            ("poll", draft.poll),
        ):
            if field_value:
                form.add((field_name,), *errors.components_v2_field(field_name))
    references = ComponentReferences()
    if body.components is UNSET:
        draft.components = json_columns.components(row)
    else:
        references = _validate_components(call, author, body.components or [], draft, form)
    draft.files = _edited_files(call, author, row, body, form)
    drafts.check_named_files(references, draft.files, form)
    form.raise_if_any()
    if body.embeds is not UNSET:
        # A file that is no longer used by an embed is listed as an attachment again.
        for file in draft.files:
            file.embedded = False
    embeds.mark_embedded_files(draft.embeds, draft.files)
    return draft


def _validate_embeds(
    call: Call, channel_access: ChannelAccess, embed_requests: list[EmbedRequest], form: errors.FormErrors
) -> list[Embed]:
    if not embed_requests:
        return []
    if not channel_access.can(Permissions.EMBED_LINKS):
        # spec/http.md#3.4: embeds are dropped for users, but rejected for bots and for apps that respond without a token.
        if call.actor_or_none is None or call.actor.is_bot:
            raise PermissionDenied(channel_access.build_denial(Permissions.EMBED_LINKS))
        return []
    return embeds.validate_embeds(embed_requests, form, now_ms=call.now_ms)


def _validate_components(
    call: Call, author: Author, component_list: list[Component], draft: Draft, form: errors.FormErrors
) -> ComponentReferences:
    """Validate the components and set them in the draft; return the objects that they refer to."""
    references = components.validate_message_components(
        component_list, form, is_v2=bool(draft.flags & MessageFlags.IS_COMPONENTS_V2), now_ms=call.now_ms
    )
    check_emojis(call, references, form)
    if references.skus and not changes.PREMIUM_BUTTONS.is_active(call.now_ms):
        for path, _ in references.skus:
            styles = [int(style) for style in ButtonStyle if style != ButtonStyle.PREMIUM]
            form.add((*path[:-1], "style"), *errors.choices(styles))
    elif references.skus:
        bot_application = applications.find_by_bot(call.tx, author.user.id) if author.application_id is None else None
        application_id = author.application_id if bot_application is None else bot_application.id
        sku_ids = [sku_id for _, sku_id in references.skus]
        offerable_sku_ids = (
            set() if application_id is None else ports.find_offerable_skus(call, application_id, sku_ids)
        )
        for path, sku_id in references.skus:
            if sku_id not in offerable_sku_ids:
                form.add(path, *errors.component_sku())
    draft.components = component_list
    return references


def check_emojis(call: Call, references: ComponentReferences, form: errors.FormErrors) -> None:
    """Add an error for each unknown emoji in components, and complete the others."""
    for path, emoji in references.emojis:
        if "id" not in emoji:
            if not emojis.is_unicode_emoji(emoji["name"]):
                form.add((*path, "name"), *errors.button_emoji())
            continue
        row = emojis.find(call.tx, int(emoji["id"]))
        if row is None:
            form.add((*path, "id"), *errors.button_emoji())
        else:
            emoji["name"] = row.name
            if row.animated:
                emoji["animated"] = True


def file_bytes_max(call: Call, author: Author, *, is_app: bool = False) -> int:
    """Return the maximum size of a file in bytes for an author, or with `is_app` for an app that responds to the author.

    The maximum depends on the guild's premium tier, the premium types of the author and the invoking user, and the
    operator's limits."""
    # Tiers 0 and 1 do not raise the operator's limit.
    tier = min(author.premium_tier, len(ATTACHMENT_BYTES_MAX_BY_TIER) - 1)
    guild_max = ATTACHMENT_BYTES_MAX_BY_TIER[tier] if tier > 1 else 0
    if (is_app or author.webhook_id is not None) and not changes.WEBHOOK_UPLOAD_10MIB.is_active(call.now_ms):
        guild_max = max(guild_max, LEGACY_WEBHOOK_BYTES_MAX)
    max_by_premium = ATTACHMENT_BYTES_MAX_BY_PREMIUM
    premium_max = max(
        max_by_premium.get(author.user.premium_type, 0), max_by_premium.get(author.invoker_premium_type, 0)
    )
    http_config = call.config.http
    return min(max(http_config.file_bytes_max, guild_max, premium_max), http_config.multipart_file_bytes_max)


def _accept_upload(call: Call, author: Author, upload: Upload, request: AttachmentRequest | None) -> StoredAttachment:
    """Return the attachment of an uploaded file; raise FILE_TOO_LARGE if the file is too large for the author."""
    # spec/dated-changes.md#2.2: the limit used to apply to the total size of all files of an app's message.
    is_app = author.webhook_id is not None or bool(author.user.bot)
    limits_each_file = changes.PER_ATTACHMENT_LIMIT.is_active(call.now_ms) or not is_app
    limited_bytes = upload.size if limits_each_file else sum(file.size for file in call.files)
    if limited_bytes > file_bytes_max(call, author):
        raise errors.FILE_TOO_LARGE()
    return build_attachment(upload, request, is_spoiler_supported=changes.ATTACHMENT_SPOILER.is_active(call.now_ms))


def _new_files(
    call: Call, author: Author, attachment_requests: list[AttachmentRequest], form: errors.FormErrors
) -> list[StoredAttachment]:
    """Return the files of a new message in the order of their metadata; files without metadata come last."""
    indexed_uploads = drafts.uploads_by_index(call.files)
    files = []
    for index, request in enumerate(attachment_requests):
        upload = indexed_uploads.pop(int(request.id), None)
        if upload is None:
            form.add(("attachments", index, "id"), *errors.attachment_not_found())
        else:
            files.append(_accept_upload(call, author, upload, request))
    files += [_accept_upload(call, author, upload, None) for _, upload in sorted(indexed_uploads.items())]
    return _prepare_files(call, files)


def _edited_files(
    call: Call, author: Author, row: MessageRow, body: wire.UpdateMessage, form: errors.FormErrors
) -> list[StoredAttachment]:
    """Return the files after an edit: the listed files, or all old and new files without a list (spec/http.md#1.11)."""
    indexed_uploads = drafts.uploads_by_index(call.files)
    old_files_by_id = {int(file.id): file for file in json_columns.attachments(row)}
    if body.attachments is UNSET:
        files = [
            *old_files_by_id.values(),
            *(_accept_upload(call, author, upload, None) for _, upload in sorted(indexed_uploads.items())),
        ]
        return _prepare_files(call, files)
    files = []
    for index, request in enumerate(body.attachments or ()):
        old_file = old_files_by_id.pop(int(request.id), None)
        if old_file is not None:
            if changes.ATTACHMENT_SPOILER.is_active(call.now_ms):
                apply_metadata(old_file, request, is_spoiler_supported=True)
            files.append(old_file)
        elif (upload := indexed_uploads.pop(int(request.id), None)) is not None:
            files.append(_accept_upload(call, author, upload, request))
        else:
            form.add(("attachments", index, "id"), *errors.attachment_not_found())
    return _prepare_files(call, files)


def _prepare_files(call: Call, files: list[StoredAttachment]) -> list[StoredAttachment]:
    """Return the files; raise MAX_ATTACHMENTS if there are too many, and create the key that signs their URLs if it is missing."""
    if len(files) > ATTACHMENTS_MAX:
        raise errors.MAX_ATTACHMENTS()
    if files:
        # Views only read the key.
        cdn_urls.find_or_create_signing_key(call.tx)
    return files


def _build_poll(call: Call, channel_access: ChannelAccess, body: CreatePoll, form: errors.FormErrors) -> Poll:
    answers = []
    for index, answer in enumerate(body.answers):
        media = answer.poll_media
        if not (media.text and media.text.strip()):
            form.add(("poll", "answers", index, "poll_media", "text"), *errors.required())
        answers.append(PollAnswer(answer_id=index + 1, poll_media=_build_poll_media(call, channel_access, media)))
    duration_hours = body.duration or POLL_HOURS_DEFAULT
    if duration_hours != int(duration_hours):
        form.add(("poll", "duration"), *errors.not_number(duration_hours))
    return Poll(
        question=PollMedia(text=body.question.text),
        answers=answers,
        expiry=codec.timestamp(call.now_ms + int(duration_hours) * HOUR_MS),
        allow_multiselect=bool(body.allow_multiselect),
        layout_type=int(body.layout_type or PollLayoutType.DEFAULT),
        results=PollResults(is_finalized=False, answer_counts=[]),
    )


def _build_poll_media(call: Call, channel_access: ChannelAccess, media: PollAnswerMediaRequest) -> PollMedia:
    poll_media = PollMedia(text=media.text or "")
    if media.emoji:
        if media.emoji.id:
            poll_media.emoji = _require_poll_emoji(call, channel_access, media.emoji.id)
        elif media.emoji.name:
            if not emojis.is_unicode_emoji(media.emoji.name):
                raise errors.POLL_CANNOT_USE_EMOJI()
            poll_media.emoji = PartialEmoji(id=None, name=media.emoji.name)
    return poll_media


def _require_poll_emoji(call: Call, channel_access: ChannelAccess, emoji_id: EmojiId) -> PartialEmoji:
    """Return a custom emoji that the sender may use in the channel; otherwise raise POLL_CANNOT_USE_EMOJI.

    A webhook may use the emoji of its guild."""
    if call.actor_or_none is not None:
        try:
            return emojis.partial(emojis.require_usable_emoji(call, channel_access, emoji_id))
        except errors.ApiError as error:
            raise errors.POLL_CANNOT_USE_EMOJI() from error
    row = emojis.find(call.tx, emoji_id)
    if row is None or row.guild_id is None or row.guild_id != channel_access.channel.guild_id:
        raise errors.POLL_CANNOT_USE_EMOJI()
    return emojis.partial(row)
