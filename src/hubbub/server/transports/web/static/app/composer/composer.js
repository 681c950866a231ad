/** The composer of a channel: text, files, replies and drafts, with the typing indicator and the slow mode below. */

import { CONTENT_MAX } from "../generated/limits.js";
import { ChannelType, Permissions, RelationshipType } from "../network/enums.js";
import { readDraft, saveDraft } from "../state/drafts.js";
import { sendMessage } from "../state/outbox.js";
import { iconButton } from "../ui/controls.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { loadModule } from "../ui/lazy_modules.js";
import { announce } from "../ui/live_region.js";
import { growToContent, insertAtCursor } from "../ui/textarea.js";
import { t, tNodes } from "../ui/translation.js";
import { channelTitle } from "../content/avatars.js";
import { openEmojiPicker } from "../content/emoji/picker.js";
import { emojiMention } from "../content/guild_emoji.js";
import { summarizeMessage } from "../content/message_text.js";
import { attachCommandList } from "../commands/list.js";
import { activitiesEnabled } from "../activities/availability.js";
import { openActivity } from "../activities/start.js";
import { authorizationNotice } from "../games/linked_channels.js";
import { slowModeOf, slowModeText, timeoutText } from "./send_limits.js";
import { Suggestions } from "./suggestions.js";

const TYPING_INTERVAL_MS = 8_000;
/** The number of remaining characters appears when it is this small. */
const COUNTER_THRESHOLD = 200;

/** Text that may be the name of an emoji. */
const EMOJI_NAME_PATTERN = /:[\w+-]+:/;
/** Time without input after which a draft is saved. */
const DRAFT_DELAY_MS = 400;

class Composer extends LayoutPart {
  static kinds = ["typing", "channels", "guilds", "members", "messages"];
  /** Whether the user has to wait because of slow mode. */
  isWaiting = false;
  /** The files of the draft; null before the first one. @type {import("./uploads.js").Uploads | null} */
  uploads = null;
  /** Timer that saves the draft; null if it is saved. */
  draftTimer = null;

  begin() {
    const { context } = this;
    this.reply = null;
    this.typingSentAt = 0;
    const draft = readDraft(context.channelId);
    this.field = h("textarea", {
      class: "compose",
      rows: "1",
      dir: "auto",
      "aria-label": t("Message {channel}", { channel: this.#channelLabel() }),
      placeholder: t("Message {channel}", { channel: this.#channelLabel() }),
      value: draft?.text ?? "",
      oninput: () => this.#onInput(),
      onkeydown: event => this.#onKeydown(event),
      onpaste: event => this.#onPaste(event),
    });
    this.fileInput = h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      "aria-label": t("Files"),
      onchange: () => {
        this.addFiles([...this.fileInput.files]);
        this.fileInput.value = "";
      },
    });
    this.lengthCounter = h("span", { class: "left", role: "status" });
    this.replyBar = h("div", { class: "replying", hidden: true });
    this.addButton = iconButton("plus", t("Add to message"), event => this.#openAdditions(event.currentTarget), {
      "aria-haspopup": "menu",
    });
    this.stickerButton = iconButton("sticker", t("Stickers"), event => this.#openStickers(event.currentTarget));
    this.launchButton = iconButton("play", t("Activities"), () => openActivity(this.context));
    this.sendButton = iconButton("send", t("Send"), () => this.send());
    this.typing = h("p", { class: "typing", role: "status" });
    this.slowMode = h("p", { class: "slow-mode muted", hidden: true });
    this.status = h("div", { class: "composer-status" }, this.typing, this.slowMode);
    this.box = h(
      "div",
      { class: "composer-box" },
      this.addButton,
      this.fileInput,
      this.field,
      this.lengthCounter,
      this.launchButton,
      this.stickerButton,
      iconButton("smile", t("Emoji"), event => this.#openEmojiPicker(event.currentTarget)),
      this.sendButton,
    );
    this.closedNotice = h("p", { class: "composer-closed muted", hidden: true });
    /** The container of the suggestion list and the command list. */
    this.node = h("div", { class: "composer" }, this.replyBar, this.box, this.closedNotice, this.status);
    this.replaceChildren(this.node);
    this.suggestions = new Suggestions(this, context, draft?.mentions);
    attachCommandList(this, context);
    this.statusTimer = setInterval(() => this.draw(), 1_000);
    setTimeout(() => growToContent(this.field));
    addEventListener("pagehide", this.#savePendingDraft);
    this.field.addEventListener("focus", () => this.#addFormattingBar(), { once: true });
  }

  end() {
    clearInterval(this.statusTimer);
    removeEventListener("pagehide", this.#savePendingDraft);
    this.#savePendingDraft();
    this.uploads?.clear();
    this.dispatchEvent(new CustomEvent("composer-end"));
  }

  /** Whether the user can send files. */
  get canAttach() {
    return this.context.state.can(this.context.channelId, Permissions.ATTACH_FILES);
  }

  /** Add files to the draft; the first call loads the module of uploads. @param {File[]} files */
  async addFiles(files) {
    const module = await loadModule(() => import("./uploads.js"));
    if (module === null || !this.isConnected) return;
    if (this.uploads === null) {
      this.uploads = new module.Uploads(this.context, () => this.focus());
      this.box.before(this.uploads.node);
    }
    this.uploads.add(files);
  }

  draw() {
    const { state, channelId } = this.context;
    const reason = this.#closedReason();
    this.box.hidden = reason !== null;
    this.closedNotice.hidden = reason === null;
    // A notice with a link stays, so that the link keeps its focus.
    const version = Array.isArray(reason) ? "authorization" : (reason ?? "");
    if (this.closedNotice.dataset.version !== version) setChildren(this.closedNotice, reason);
    this.closedNotice.dataset.version = version;
    this.#drawSlowMode(reason);
    const additions = [Permissions.ATTACH_FILES, Permissions.SEND_POLLS, Permissions.SEND_VOICE_MESSAGES];
    this.addButton.hidden = !additions.some(bits => state.can(channelId, bits));
    this.launchButton.hidden = !activitiesEnabled() || !state.can(channelId, Permissions.USE_EMBEDDED_ACTIVITIES);
    this.#drawTyping();
  }

  focus() {
    this.field.focus();
  }

  #drawSlowMode(closedReason) {
    const slowMode = slowModeOf(this.context);
    const text = closedReason === null ? slowModeText(slowMode) : null;
    this.isWaiting = closedReason === null && slowMode.remainingMs > 0;
    this.slowMode.hidden = text === null;
    if (this.slowMode.textContent !== (text ?? "")) this.slowMode.textContent = text ?? "";
    this.#updateSendButton();
  }

  /** Make the draft a reply to a message. */
  replyTo(message) {
    const { state, guildId } = this.context;
    this.reply = message;
    this.mentionsAuthor = true;
    const toggle = event => {
      this.mentionsAuthor = !this.mentionsAuthor;
      event.currentTarget.setAttribute("aria-pressed", String(this.mentionsAuthor));
      event.currentTarget.textContent = this.mentionsAuthor ? t("@ on") : t("@ off");
    };
    setChildren(
      this.replyBar,
      h(
        "p",
        null,
        icon("reply"),
        tNodes("Replying to {name}", {
          name: h("strong", { dir: "auto" }, state.displayName(message.author, guildId)),
        }),
        h("span", { class: "muted", dir: "auto" }, ` ${summarizeMessage(message, this.context)}`),
      ),
      h(
        "button",
        { type: "button", class: "link", "aria-pressed": "true", title: t("Mention the author"), onclick: toggle },
        t("@ on"),
      ),
      iconButton("close", t("Cancel reply"), () => this.#cancelReply()),
    );
    this.replyBar.hidden = false;
    this.focus();
  }

  /** Send the draft, unless it is empty or too long, or the user has to wait because of slow mode. */
  async send() {
    if (this.field.readOnly) return;
    const content = await this.#readContent();
    if (!this.isConnected || [...content].length > CONTENT_MAX) return;
    this.draw();
    if (this.isWaiting) {
      announce(this.slowMode.textContent);
      return;
    }
    const { files, fileDetails } = this.uploads?.take() ?? { files: [], fileDetails: [] };
    if (!content && !files.length) return;
    this.field.value = "";
    this.#saveDraft();
    this.#updateLength();
    this.typingSentAt = 0;
    this.submit({ content, files, fileDetails });
  }

  /** Send a message as a reply to the selected message, if there is one. The text of the draft stays. */
  submit(draft) {
    const { reply, mentionsAuthor } = this;
    this.#cancelReply();
    this.dispatchEvent(new CustomEvent("message-sent", { bubbles: true }));
    return sendMessage(this.context, { content: "", reply, mentionsAuthor, ...draft });
  }

  /** Return the text with mentions and emoji in place of names. The first emoji name loads the list of emoji. */
  async #readContent() {
    const text = this.suggestions.resolve(this.field.value).trim();
    if (!EMOJI_NAME_PATTERN.test(text)) return text;
    this.field.readOnly = true;
    const module = await loadModule(() => import("../content/emoji/text.js"));
    const content = (await module?.replaceEmojiNames(text, this.context)) ?? text;
    this.field.readOnly = false;
    return content;
  }

  #channelLabel() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return t("here");
    const title = channelTitle(channel, state);
    return channel.guild_id ? `#${title}` : title;
  }

  #closedReason() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return t("This conversation was deleted.");
    const timeout = timeoutText(this.context);
    if (timeout !== null) return timeout;
    if (!state.can(channelId, Permissions.SEND_MESSAGES))
      return t("You do not have permission to send messages in this channel.");
    if (channel.thread_metadata?.locked && !state.can(channelId, Permissions.MANAGE_THREADS))
      return t("This thread is locked.");
    if (
      channel.type === ChannelType.DM &&
      state.relationships.get(channel.recipients?.[0]?.id)?.type === RelationshipType.BLOCKED
    )
      return t("You blocked this user. Unblock them to send messages.");
    return authorizationNotice(this.context, channel);
  }

  #onKeydown(event) {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.reply) {
      event.preventDefault();
      this.#cancelReply();
    } else if (event.key === "ArrowUp" && !this.field.value) {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("edit-last", { bubbles: true }));
    }
  }

  #onInput() {
    this.#updateLength();
    clearTimeout(this.draftTimer);
    this.draftTimer = setTimeout(() => this.#saveDraft(), DRAFT_DELAY_MS);
    const { api, channelId } = this.context;
    const now = Date.now();
    if (!this.field.value.trim() || this.field.value.startsWith("/") || now - this.typingSentAt < TYPING_INTERVAL_MS)
      return;
    this.typingSentAt = now;
    // A lost typing notification does not matter.
    api.request("POST", `/channels/${channelId}/typing`).catch(() => {});
  }

  #saveDraft() {
    clearTimeout(this.draftTimer);
    this.draftTimer = null;
    saveDraft(this.context.channelId, { text: this.field.value, mentions: this.suggestions.mentions });
  }

  /** Save input that was not saved yet. Only input is saved, because another window may have changed the draft. */
  #savePendingDraft = () => {
    if (this.draftTimer !== null) this.#saveDraft();
  };

  #updateLength() {
    growToContent(this.field);
    const remaining = CONTENT_MAX - [...this.suggestions.resolve(this.field.value)].length;
    this.lengthCounter.textContent = remaining <= COUNTER_THRESHOLD ? String(remaining) : "";
    this.lengthCounter.classList.toggle("over-limit", remaining < 0);
    this.field.setAttribute("aria-invalid", String(remaining < 0));
    this.#updateSendButton();
  }

  #updateSendButton() {
    this.sendButton.disabled = this.isWaiting || this.field.getAttribute("aria-invalid") === "true";
  }

  #onPaste(event) {
    if (!event.clipboardData?.files.length || !this.canAttach) return;
    event.preventDefault();
    this.addFiles([...event.clipboardData.files]);
  }

  #cancelReply() {
    this.reply = null;
    this.replyBar.hidden = true;
  }

  #openEmojiPicker(anchor) {
    openEmojiPicker(anchor, this.context, emoji =>
      insertAtCursor(this.field, emoji.id ? `${emojiMention(emoji)} ` : emoji.name),
    );
  }

  async #addFormattingBar() {
    (await loadModule(() => import("./formatting_bar.js")))?.attachFormattingBar(this);
  }

  async #openAdditions(anchor) {
    (await loadModule(() => import("./additions.js")))?.openAdditions(this, anchor);
  }

  async #openStickers(anchor) {
    (await loadModule(() => import("./sticker_picker.js")))?.openStickerPicker(this, anchor);
  }

  #drawTyping() {
    const { state, channelId, guildId } = this.context;
    const names = state
      .typingIn(channelId)
      .map(id => state.user(id))
      .filter(Boolean)
      .map(user => state.displayName(user, guildId));
    const text =
      names.length === 0
        ? ""
        : names.length === 1
          ? t("{name} is typing…", { name: names[0] })
          : names.length <= 3
            ? t("{names} are typing…", { names: names.join(", ") })
            : t("Several people are typing…");
    if (this.typing.textContent !== text) this.typing.textContent = text;
  }
}

customElements.define("hubbub-composer", Composer);
