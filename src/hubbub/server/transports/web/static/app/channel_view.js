/** A channel: its head, its messages, the field to write in, and who is there. */

import { ChannelFlags, isVoice } from "./enums.js";
import { h, replace } from "./dom.js";
import { Part, part } from "./parts.js";
import { focusRow } from "./timeline.js";
import { viewHead } from "./view_head.js";

class ChannelView extends Part {
  static kinds = ["channels", "guilds", "presences", "members", "relationships"];

  begin() {
    const { context } = this, channel = context.state.channels.get(context.channelId);
    this.head = h("div", { class: "view-top" });
    this.timeline = part("hubbub-timeline", context, { messageId: this.messageId });
    this.composer = part("hubbub-composer", context);
    this.drop = h("p", { class: "drop", hidden: true, "aria-hidden": "true" }, "Let go to add the files");
    replace(this, this.head, channel && isVoice(channel) ? part("hubbub-stage", context) : null, this.timeline, this.composer, this.drop);
    this.addEventListener("reply", event => this.composer.answer(/** @type {CustomEvent} */ (event).detail));
    this.addEventListener("compose", () => this.composer.focus());
    this.addEventListener("said", () => this.timeline.toNewest());
    this.addEventListener("edit-last", () => this.#editLast());
    this.addEventListener("dragover", event => this.#dragged(event, true));
    this.addEventListener("dragleave", event => event.target === this.drop && this.#dragged(event, false));
    this.addEventListener("drop", event => this.#dropped(event));
  }

  draw() {
    const { context } = this, channel = context.state.channels.get(context.channelId);
    if (channel === undefined || (channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED) return;
    // The head has menus that may be open: it is only built anew where it would look different.
    const others = (channel.recipients ?? []).map(each => `${context.state.nameOf(each, null)} ${context.state.statusOf(each.id)}`);
    const stamp = JSON.stringify([channel.name, channel.topic, channel.type, channel.parent_id, channel.member !== undefined, others, String(context.state.permissionsIn(channel.id))]);
    if (this.head.dataset.stamp === stamp) return;
    this.head.dataset.stamp = stamp;
    replace(this.head, viewHead(context, channel));
  }

  seek(messageId) {
    this.timeline.seek(messageId);
  }

  #editLast() {
    const { me } = this.context, { timeline } = this;
    const mine = timeline.log.items.findLast(each => each.author.id === me.id && !each.webhook_id && (each.type === 0 || each.type === 19));
    if (mine === undefined) return;
    const row = timeline.list.querySelector(`[data-message-id="${mine.id}"]`);
    if (row) focusRow(timeline.list, row);
    timeline.toolbar.startEditing(mine);
  }

  #dragged(event, over) {
    if (!event.dataTransfer?.types.includes("Files") || this.composer.attach.hidden) return;
    event.preventDefault();
    this.drop.hidden = !over;
  }

  #dropped(event) {
    this.drop.hidden = true;
    if (!event.dataTransfer?.files.length || this.composer.attach.hidden) return;
    event.preventDefault();
    this.composer.uploads.add(event.dataTransfer.files);
    this.composer.focus();
  }
}

customElements.define("hubbub-channel", ChannelView);
