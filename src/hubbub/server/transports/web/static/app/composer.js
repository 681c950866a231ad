/** Where one writes: words, files, answers; what others write meanwhile stands below. */

import { canPlay } from "./activity.js";
import { ChannelType, Permissions } from "./enums.js";
import { h, icon, replace } from "./dom.js";
import { openEmojiPicker } from "./emoji_picker.js";
import { apps } from "./lazy.js";
import { iconButton, Part } from "./parts.js";
import { say } from "./sending.js";
import { Suggestions } from "./suggestions.js";
import { wordsOf } from "./system_words.js";
import { grow, insert } from "./textarea.js";
import { Uploads } from "./uploads.js";
import { titleOf } from "./faces.js";

const CONTENT_MAX = 2000;
const TYPING_AGAIN_MS = 8_000;

/** What was begun and not sent, by channel, as long as the page is open. */
const drafts = new Map();

class Composer extends Part {
  static kinds = ["typing", "channels", "guilds", "members"];

  begin() {
    const { context } = this;
    this.reply = null;
    this.toldAt = 0;
    this.field = h("textarea", {
      class: "compose", rows: "1", dir: "auto", "aria-label": `Message ${this.#where()}`, placeholder: `Message ${this.#where()}`, value: drafts.get(context.channelId) ?? "",
      oninput: () => this.#typed(), onkeydown: event => this.#pressed(event), onpaste: event => this.#pasted(event),
    });
    this.uploads = new Uploads();
    this.files = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files", onchange: () => { this.uploads.add(this.files.files); this.files.value = ""; } });
    this.left = h("span", { class: "left", role: "status" });
    this.replying = h("div", { class: "replying", hidden: true });
    this.attach = iconButton("plus", "Add files", () => this.files.click());
    this.launch = iconButton("play", "Activities", () => this.#activities());
    this.sendButton = iconButton("send", "Send", () => this.send());
    this.typing = h("p", { class: "typing", role: "status" });
    this.box = h("div", { class: "composer-box" }, this.attach, this.files, this.field, this.left, this.launch, iconButton("smile", "Emoji", event => this.#emoji(event.currentTarget)), this.sendButton);
    this.closed = h("p", { class: "composer-closed soft", hidden: true });
    /** Where pickers put themselves; `field` is what is written in. */
    this.node = h("div", { class: "composer" }, this.replying, this.uploads.node, this.box, this.closed, this.typing);
    this.replaceChildren(this.node);
    this.suggestions = new Suggestions(this, context);
    apps("commands").then(module => module?.commandPicker?.(this, context));
    this.clock = setInterval(() => this.#drawTyping(), 1_000);
    setTimeout(() => grow(this.field));
  }

  end() {
    clearInterval(this.clock);
    if (this.field.value) drafts.set(this.context.channelId, this.field.value);
    else drafts.delete(this.context.channelId);
    this.uploads.clear();
  }

  draw() {
    const { state, channelId } = this.context;
    const why = this.#whyNot();
    this.box.hidden = why !== null;
    this.closed.hidden = why === null;
    this.closed.textContent = why ?? "";
    this.attach.hidden = !state.can(channelId, Permissions.ATTACH_FILES);
    this.launch.hidden = !canPlay() || !state.can(channelId, Permissions.USE_EMBEDDED_ACTIVITIES);
    this.#drawTyping();
  }

  focus() {
    this.field.focus();
  }

  /** Answer a message. */
  answer(message) {
    const { state, guildId } = this.context;
    this.reply = message;
    this.mention = true;
    const toggle = event => {
      this.mention = !this.mention;
      event.currentTarget.setAttribute("aria-pressed", String(this.mention));
      event.currentTarget.textContent = this.mention ? "@ on" : "@ off";
    };
    replace(
      this.replying,
      h("p", null, icon("reply"), "In answer to ", h("strong", { dir: "auto" }, state.nameOf(message.author, guildId)), h("span", { class: "soft", dir: "auto" }, ` ${wordsOf(message, this.context)}`)),
      h("button", { type: "button", class: "link", "aria-pressed": "true", title: "Whether they are mentioned", onclick: toggle }, "@ on"),
      iconButton("close", "Do not answer", () => this.#noReply()),
    );
    this.replying.hidden = false;
    this.focus();
  }

  /** Say what is written. */
  send() {
    const content = this.suggestions.resolve(this.field.value).trim();
    const files = this.uploads.take();
    if ((!content && !files.length) || [...content].length > CONTENT_MAX) return;
    const reply = this.reply, mention = this.mention;
    this.field.value = "";
    this.#noReply();
    this.#measure();
    this.toldAt = 0;
    this.dispatchEvent(new CustomEvent("said", { bubbles: true }));
    say(this.context, { content, files, reply, mention });
  }

  #where() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return "here";
    const title = titleOf(channel, state);
    return channel.guild_id ? `#${title}` : title;
  }

  #whyNot() {
    const { state, channelId } = this.context;
    const channel = state.channels.get(channelId);
    if (channel === undefined) return "This conversation is gone.";
    if (!state.can(channelId, Permissions.SEND_MESSAGES)) return "You may read here, but not write.";
    if (channel.thread_metadata?.locked && !state.can(channelId, Permissions.MANAGE_THREADS)) return "This thread is locked.";
    if (channel.type === ChannelType.DM && state.relationships.get(channel.recipients?.[0]?.id)?.type === 2) return "You blocked them. Unblock them to write.";
    return null;
  }

  #pressed(event) {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && this.reply) {
      event.preventDefault();
      this.#noReply();
    } else if (event.key === "ArrowUp" && !this.field.value) {
      event.preventDefault();
      this.dispatchEvent(new CustomEvent("edit-last", { bubbles: true }));
    }
  }

  #typed() {
    this.#measure();
    const { api, channelId } = this.context;
    const now = Date.now();
    if (!this.field.value.trim() || this.field.value.startsWith("/") || now - this.toldAt < TYPING_AGAIN_MS) return;
    this.toldAt = now;
    // Whether it is told or not changes nothing for whoever writes.
    api.request("POST", `/channels/${channelId}/typing`).catch(() => {});
  }

  #measure() {
    grow(this.field);
    const left = CONTENT_MAX - [...this.suggestions.resolve(this.field.value)].length;
    this.left.textContent = left <= 200 ? String(left) : "";
    this.left.classList.toggle("over", left < 0);
    this.sendButton.disabled = left < 0;
    this.field.setAttribute("aria-invalid", String(left < 0));
  }

  #pasted(event) {
    if (!event.clipboardData?.files.length || this.attach.hidden) return;
    event.preventDefault();
    this.uploads.add(event.clipboardData.files);
  }

  #noReply() {
    this.reply = null;
    this.replying.hidden = true;
  }

  #emoji(anchor) {
    openEmojiPicker(anchor, this.context, emoji => insert(this.field, emoji.id ? `<${emoji.animated ? "a" : ""}:${emoji.name}:${emoji.id}> ` : emoji.name));
  }

  async #activities() {
    const module = await apps("activity");
    module?.openActivity?.(this.context, {});
  }

  #drawTyping() {
    const { state, channelId, guildId } = this.context;
    const names = state.typingIn(channelId).map(id => state.user(id)).filter(Boolean).map(user => state.nameOf(user, guildId));
    const words = names.length === 0 ? "" : names.length === 1 ? `${names[0]} is writing…` : names.length <= 3 ? `${names.join(", ")} are writing…` : "Several people are writing…";
    if (this.typing.textContent !== words) this.typing.textContent = words;
  }
}

customElements.define("hubbub-composer", Composer);
