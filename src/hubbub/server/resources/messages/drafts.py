"""From a body to what a message will hold: every rule about content, none about who may speak here."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
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
from hubbub.protocol.resources.embeds import Embed, EmbedRequest
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.polls import (
    POLL_HOURS_DEFAULT,
    CreatePoll,
    Poll,
    PollAnswer,
    PollAnswerMediaRequest,
    PollMedia,
    PollResults,
)
from hubbub.protocol.resources.stickers import StickerItem
from hubbub.server.core import cdn_urls
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call, Upload
from hubbub.server.resources import applications, emojis, stickers
from hubbub.server.resources.attachments import StoredAttachment, describe, from_upload
from hubbub.server.resources.messages import columns, components, embeds, mentions
from hubbub.server.resources.messages.component_fields import Named
from hubbub.server.resources.messages.facts import SkusNamed
from hubbub.server.resources.messages.records import Author, MessageRow

MIB: Final = 1 << 20
WEBHOOK_BYTES_MAX_BEFORE: Final = 25 * MIB
"""Per file of a webhook, before webhook_upload_10mib (dated-changes.md 2.2)."""

# http.md 3.4: what a message of components cannot hold beside them.
_LEGACY: Final = ("content", "embeds", "sticker_ids", "poll", "shared_client_theme")


class Draft(msgspec.Struct, kw_only=True):
    """What a message will hold."""

    content: str = ""
    flags: int = 0
    embeds: list[Embed] = []
    components: list[dict[str, Any]] = []
    files: list[StoredAttachment] = []
    stickers: list[StickerItem] = []
    poll: Poll | None = None
    theme: wire.SharedClientTheme | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it to send (http.md 3.4)."""
        if self.flags & MessageFlags.IS_COMPONENTS_V2:
            return not self.components
        return not (
            self.content or self.embeds or self.components or self.files or self.stickers or self.poll or self.theme
        )

    def texts(self) -> Iterator[str]:
        """Where mentions are looked for."""
        yield self.content
        if self.flags & MessageFlags.IS_COMPONENTS_V2:
            yield from components.texts(self.components)

    def words(self) -> Iterator[str]:
        """All that people will read of it."""
        yield from self.texts()
        for embed in self.embeds:
            yield from (embed.title or "", embed.description or "")
            yield from (embed.author.name if embed.author else "", embed.footer.text if embed.footer else "")
            for field in embed.fields or ():
                yield from (field.name, field.value)
        if self.poll is not None:
            yield self.poll.question.text or ""
            yield from (answer.poll_media.text or "" for answer in self.poll.answers)
        for file in self.files:
            yield from (file.filename, file.description or "")


def clean(content: str | None) -> str:
    """Text as it is kept: without white space around it, and without the character that PostgreSQL cannot hold."""
    return (content or "").replace("\x00", "").strip()


def read(call: Call, access: ChannelAccess, author: Author, body: wire.CreateFirstMessage) -> Draft:
    """What a new message will hold; refused parts raise."""
    draft = Draft(content=clean(body.content or None), flags=_settable(call, body.flags or 0))
    voice = bool(draft.flags & MessageFlags.IS_VOICE_MESSAGE)
    if call.files and not voice:
        access.require(Permissions.ATTACH_FILES)
    if voice and not access.can(Permissions.SEND_VOICE_MESSAGES):
        raise errors.VOICE_MESSAGE_NOT_ALLOWED()
    if body.poll:
        access.require(Permissions.SEND_POLLS)
    if body.sticker_ids:
        draft.stickers = stickers.require_sendable(call, access, body.sticker_ids)
    form = errors.FormErrors()
    mentions.check(body.allowed_mentions, form)
    if draft.flags & MessageFlags.IS_COMPONENTS_V2:
        _refuse_legacy(body, form)
    draft.embeds = _embeds(call, access, body.embeds or [], form)
    named = _components(call, author, body.components or [], draft, form)
    draft.files = _new_files(call, author, body.attachments or [], form)
    _require_named_files(named, draft.files, form)
    if body.poll:
        draft.poll = _poll(call, access, body.poll, form)
    draft.theme = body.shared_client_theme or None
    form.raise_if_any()
    embeds.claim(draft.embeds, draft.files)
    if voice:
        _require_voice_message(draft)
    return draft


def edit(call: Call, access: ChannelAccess, author: Author, row: MessageRow, body: wire.UpdateMessage) -> Draft:
    """What a message will hold after an edit by its author."""
    kept = columns.extra(row)
    draft = Draft(
        content=row.content,
        flags=row.flags,
        stickers=kept.sticker_items,
        poll=kept.poll,
        theme=kept.shared_client_theme,
    )
    if call.files:
        access.require(Permissions.ATTACH_FILES)
    form = errors.FormErrors()
    mentions.check(body.allowed_mentions, form)
    if body.flags is not UNSET:
        draft.flags = edited_flags(call, row.flags, body.flags or 0)
    if body.content is not UNSET:
        draft.content = clean(body.content)
    draft.embeds = columns.embeds(row) if body.embeds is UNSET else _embeds(call, access, body.embeds or [], form)
    if draft.flags & MessageFlags.IS_COMPONENTS_V2:
        for name, held in (
            ("content", draft.content),
            ("embeds", draft.embeds),
            ("sticker_ids", draft.stickers),
            ("poll", draft.poll),
        ):
            if held:
                form.add((name,), *errors.components_v2_field(name))
    named = Named()
    if body.components is UNSET:
        draft.components = columns.components(row)
    else:
        named = _components(call, author, body.components or [], draft, form)
    draft.files = _edited_files(call, author, row, body, form)
    _require_named_files(named, draft.files, form)
    form.raise_if_any()
    if body.embeds is not UNSET:
        # A file that no embed shows any longer is listed again.
        for file in draft.files:
            file.embedded = False
    embeds.claim(draft.embeds, draft.files)
    return draft


def first(call: Call, body: wire.UpdateMessage) -> wire.CreateFirstMessage:
    """An edit as what is said first, of a message that says nothing yet."""
    return wire.CreateFirstMessage(
        content=body.content,
        embeds=body.embeds,
        allowed_mentions=body.allowed_mentions,
        components=body.components,
        attachments=body.attachments,
        flags=edited_flags(call, 0, body.flags or 0),
    )


def edited_flags(call: Call, before: int, wanted: int) -> int:
    """The flags after an edit: SUPPRESS_EMBEDS goes both ways, IS_COMPONENTS_V2 only on (http.md 3.4)."""
    after = before & ~MessageFlags.SUPPRESS_EMBEDS | wanted & MessageFlags.SUPPRESS_EMBEDS
    return after | _settable(call, wanted) & MessageFlags.IS_COMPONENTS_V2


def _settable(call: Call, wanted: int) -> int:
    """Of the flags asked for those a sender may set; others are not an error, they just do not stick (decisions/0013)."""
    flags = wanted & MessageFlags.SETTABLE
    if flags & MessageFlags.IS_COMPONENTS_V2 and not changes.COMPONENTS_V2.active(call.now):
        flags &= ~MessageFlags.IS_COMPONENTS_V2
    return flags


def _refuse_legacy(body: wire.CreateFirstMessage, form: errors.FormErrors) -> None:
    for name in _LEGACY:
        if getattr(body, name):
            form.add((name,), *errors.components_v2_field(name))


def _embeds(call: Call, access: ChannelAccess, requests: list[EmbedRequest], form: errors.FormErrors) -> list[Embed]:
    if not requests:
        return []
    if not access.can(Permissions.EMBED_LINKS):
        # http.md 3.4: dropped for people, refused for bots, and for apps that answer without a token.
        if call.find_actor is None or call.actor.is_bot:
            raise errors.MISSING_PERMISSIONS()
        return []
    return embeds.read(requests, form, now=call.now)


def _components(call: Call, author: Author, found: list[Component], draft: Draft, form: errors.FormErrors) -> Named:
    """Check and take over the components; answers what they name."""
    named = components.check(found, form, v2=bool(draft.flags & MessageFlags.IS_COMPONENTS_V2), now=call.now)
    require_emojis(call, named, form)
    if named.skus and not changes.PREMIUM_BUTTONS.active(call.now):
        for path, _ in named.skus:
            styles = [int(style) for style in ButtonStyle if style != ButtonStyle.PREMIUM]
            form.add((*path[:-1], "style"), *errors.choices(styles))
    elif named.skus:
        owner = applications.find_by_bot(call.tx, author.user.id) if author.application_id is None else None
        application_id = author.application_id if owner is None else owner.id
        fact = SkusNamed(application_id=application_id, sku_ids=tuple(sku for _, sku in named.skus), active=set())
        call.tell(fact)
        for path, sku_id in named.skus:
            if sku_id not in fact.active:
                form.add(path, *errors.component_sku())
    draft.components = found
    return named


def require_emojis(call: Call, named: Named, form: errors.FormErrors) -> None:
    """Note which emoji of components do not exist, and complete those that do."""
    for path, emoji in named.emojis:
        if "id" not in emoji:
            if not emojis.is_unicode(emoji["name"]):
                form.add((*path, "name"), *errors.button_emoji())
            continue
        row = emojis.find(call.tx, int(emoji["id"]))
        if row is None:
            form.add((*path, "id"), *errors.button_emoji())
        else:
            emoji["name"] = row.name
            if row.animated:
                emoji["animated"] = True


def _require_named_files(named: Named, files: list[StoredAttachment], form: errors.FormErrors) -> None:
    """Note which files that components show did not come, or are no pictures where one belongs."""
    known = {file.filename: file for file in files}
    for path, name, picture in named.files:
        file = known.get(name)
        if file is None or (picture and not (file.content_type or "").startswith("image/")):
            form.add(path, *errors.attachment_not_found())


def file_bytes_max(call: Call, author: Author, *, app: bool = False) -> int:
    """The largest file a sender may attach here, or an app that answers them: by the guild's tier, their own premium, and the
    operator's word, who also says how much comes through the door at all."""
    guild = ATTACHMENT_BYTES_MAX_BY_TIER[min(author.premium_tier, 3)] if author.premium_tier > 1 else 0
    if (app or author.webhook_id is not None) and not changes.WEBHOOK_UPLOAD_10MIB.active(call.now):
        guild = max(guild, WEBHOOK_BYTES_MAX_BEFORE)
    premium = ATTACHMENT_BYTES_MAX_BY_PREMIUM
    own = max(premium.get(author.user.premium_type, 0), premium.get(author.asker_premium, 0))
    http = call.config.http
    return min(max(http.max_file_bytes, guild, own), http.largest_file_bytes)


def _stored(call: Call, author: Author, upload: Upload, said: AttachmentRequest | None) -> StoredAttachment:
    # dated-changes.md 2.2: at first all files of an app's message were weighed together.
    app = author.webhook_id is not None or bool(author.user.bot)
    each = changes.PER_ATTACHMENT_LIMIT.active(call.now) or not app
    weight = upload.size if each else sum(file.size for file in call.files)
    if weight > file_bytes_max(call, author):
        raise errors.FILE_TOO_LARGE()
    return from_upload(upload, said, spoiler_flag=changes.ATTACHMENT_SPOILER.active(call.now))


def _uploads(call: Call) -> dict[int, Upload]:
    """The files of the request by the `n` that metadata names them with; the old `file` part counts as 0 if that is free."""
    found: dict[int, Upload] = {upload.index: upload for upload in call.files if upload.index is not None}
    for upload in call.files:
        if upload.index is None:
            place = 0
            while place in found:
                place += 1
            found[place] = upload
    return found


def _new_files(
    call: Call, author: Author, requests: list[AttachmentRequest], form: errors.FormErrors
) -> list[StoredAttachment]:
    """The files of a new message in the order of their metadata; those without any come last."""
    uploads = _uploads(call)
    files = []
    for index, said in enumerate(requests):
        upload = uploads.pop(int(said.id), None)
        if upload is None:
            form.add(("attachments", index, "id"), *errors.attachment_not_found())
        else:
            files.append(_stored(call, author, upload, said))
    files += [_stored(call, author, upload, None) for _, upload in sorted(uploads.items())]
    _require_room(call, files)
    return files


def _edited_files(
    call: Call, author: Author, row: MessageRow, body: wire.UpdateMessage, form: errors.FormErrors
) -> list[StoredAttachment]:
    """The files after an edit: exactly those listed; without a list all old and all new (http.md 1.11)."""
    uploads = _uploads(call)
    old = {int(file.id): file for file in columns.attachments(row)}
    if body.attachments is UNSET:
        files = [*old.values(), *(_stored(call, author, upload, None) for _, upload in sorted(uploads.items()))]
        _require_room(call, files)
        return files
    files = []
    for index, said in enumerate(body.attachments or ()):
        kept = old.pop(int(said.id), None)
        if kept is not None:
            if changes.ATTACHMENT_SPOILER.active(call.now):
                describe(kept, said, spoiler_flag=True)
            files.append(kept)
        elif (upload := uploads.pop(int(said.id), None)) is not None:
            files.append(_stored(call, author, upload, said))
        else:
            form.add(("attachments", index, "id"), *errors.attachment_not_found())
    _require_room(call, files)
    return files


def _require_room(call: Call, files: list[StoredAttachment]) -> None:
    if len(files) > ATTACHMENTS_MAX:
        raise errors.MAX_ATTACHMENTS()
    if files:
        cdn_urls.get_key(call.tx)


def _require_voice_message(draft: Draft) -> None:
    """http.md 3.4: one audio file with its length and waveform, and nothing else."""
    if draft.content or draft.embeds or draft.components or draft.stickers or draft.poll or draft.theme:
        raise errors.VOICE_MESSAGE_EXTRA_CONTENT()
    if len(draft.files) != 1 or not (draft.files[0].content_type or "").startswith("audio/"):
        raise errors.VOICE_MESSAGE_SINGLE_AUDIO()
    if draft.files[0].duration_secs is None or draft.files[0].waveform is None:
        raise errors.VOICE_MESSAGE_METADATA()


def _poll(call: Call, access: ChannelAccess, body: CreatePoll, form: errors.FormErrors) -> Poll:
    answers = []
    for index, answer in enumerate(body.answers):
        media = answer.poll_media
        if not (media.text and media.text.strip()):
            form.add(("poll", "answers", index, "poll_media", "text"), *errors.required())
        answers.append(PollAnswer(answer_id=index + 1, poll_media=_poll_media(call, access, media)))
    hours = body.duration or POLL_HOURS_DEFAULT
    if hours != int(hours):
        form.add(("poll", "duration"), *errors.not_number(hours))
    return Poll(
        question=PollMedia(text=body.question.text),
        answers=answers,
        expiry=json.timestamp(call.now + int(hours) * 3_600_000),
        allow_multiselect=bool(body.allow_multiselect),
        layout_type=int(body.layout_type or PollLayoutType.DEFAULT),
        results=PollResults(is_finalized=False, answer_counts=[]),
    )


def _poll_media(call: Call, access: ChannelAccess, media: PollAnswerMediaRequest) -> PollMedia:
    shown = PollMedia(text=media.text or "")
    if media.emoji:
        if media.emoji.id:
            shown.emoji = _poll_emoji(call, access, media.emoji.id)
        elif media.emoji.name:
            if not emojis.is_unicode(media.emoji.name):
                raise errors.POLL_CANNOT_USE_EMOJI()
            shown.emoji = PartialEmoji(id=None, name=media.emoji.name)
    return shown


def _poll_emoji(call: Call, access: ChannelAccess, emoji_id: EmojiId) -> PartialEmoji:
    """A custom emoji that the sender may use here; a webhook uses those of its guild."""
    if call.find_actor is not None:
        try:
            return emojis.partial(emojis.require_use(call, access, emoji_id))
        except errors.ApiError as error:
            raise errors.POLL_CANNOT_USE_EMOJI() from error
    row = emojis.find(call.tx, emoji_id)
    if row is None or row.guild_id is None or row.guild_id != access.channel.guild_id:
        raise errors.POLL_CANNOT_USE_EMOJI()
    return emojis.partial(row)
