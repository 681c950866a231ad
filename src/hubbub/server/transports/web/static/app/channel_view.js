/** The view of a channel: header, call, messages and composer. */

import { ChannelFlags, MessageType, isLinkable, isPrivate, isVoice } from "./network/enums.js";
import { h, setChildren } from "./ui/dom.js";
import { LayoutPart, createPart } from "./ui/layout_part.js";
import { t } from "./ui/translation.js";
import { activityLine } from "./games/activity/text.js";
import { callIdOf } from "./calls/places.js";
import { requestPrivateCall } from "./calls/private_calls.js";
import { channelHeader } from "./channels/header.js";
import { focusRow } from "./messages/timeline.js";

class ChannelView extends LayoutPart {
  static kinds = ["channels", "guilds", "presences", "members", "relationships", "voiceStates"];
  /** Closes the pane that contains this view; null if it is the main view. @type {(() => void) | null} */
  onClose = null;

  begin() {
    const { context } = this,
      channel = context.state.channels.get(context.channelId);
    this.head = h("div", { class: "view-top" });
    this.timeline = createPart("hubbub-timeline", context, { messageId: this.messageId });
    this.composer = createPart("hubbub-composer", context);
    this.dropHint = h("p", { class: "drop", hidden: true, "aria-hidden": "true" }, t("Drop files to upload"));
    setChildren(
      this,
      this.head,
      channel && (isVoice(channel) || isPrivate(channel) || isLinkable(channel))
        ? createPart("hubbub-call-view", context)
        : null,
      this.timeline,
      this.composer,
      this.dropHint,
    );
    if (channel && isPrivate(channel)) requestPrivateCall(context, channel.id);
    this.addEventListener("reply", event => this.composer.replyTo(/** @type {CustomEvent} */ (event).detail));
    this.addEventListener("focus-composer", () => this.composer.focus());
    this.addEventListener("message-sent", () => this.timeline.scrollToNewest());
    this.addEventListener("edit-last", () => this.#editLast());
    this.addEventListener("dragover", event => this.#onDrag(event, true));
    this.addEventListener("dragleave", event => event.target === this.dropHint && this.#onDrag(event, false));
    this.addEventListener("drop", event => this.#onDrop(event));
  }

  draw() {
    const { context } = this,
      channel = context.state.channels.get(context.channelId);
    if (channel === undefined || (channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED) return;
    // Rebuild the header only when its content changed, because one of its menus may be open.
    const { state } = context;
    const recipientVersions = (channel.recipients ?? []).map(recipient => [
      state.displayName(recipient, null),
      state.statusOf(recipient.id),
      activityLine(state.activitiesOf(recipient.id)),
    ]);
    const version = JSON.stringify([
      channel.name,
      channel.topic,
      channel.type,
      channel.parent_id,
      channel.member !== undefined,
      channel.linked_lobby,
      callIdOf(context, channel),
      recipientVersions,
      String(context.state.permissionsIn(channel.id)),
    ]);
    if (this.head.dataset.version === version) return;
    this.head.dataset.version = version;
    setChildren(this.head, channelHeader(context, channel, this.onClose));
  }

  /** Show and highlight a message. */
  seek(messageId) {
    this.timeline.seek(messageId);
  }

  #editLast() {
    const { me } = this.context,
      { timeline } = this;
    const lastOwnMessage = timeline.log.messages.findLast(
      message =>
        message.author.id === me.id &&
        !message.webhook_id &&
        (message.type === MessageType.DEFAULT || message.type === MessageType.REPLY),
    );
    if (lastOwnMessage === undefined) return;
    const row = timeline.list.querySelector(`[data-message-id="${lastOwnMessage.id}"]`);
    if (row) focusRow(timeline.list, row);
    timeline.toolbar.startEditing(lastOwnMessage);
  }

  #onDrag(event, isOver) {
    if (!event.dataTransfer?.types.includes("Files") || !this.composer.canAttach) return;
    event.preventDefault();
    this.dropHint.hidden = !isOver;
  }

  #onDrop(event) {
    this.dropHint.hidden = true;
    if (!event.dataTransfer?.files.length || !this.composer.canAttach) return;
    event.preventDefault();
    this.composer.addFiles([...event.dataTransfer.files]);
    this.composer.focus();
  }
}

customElements.define("hubbub-channel", ChannelView);
