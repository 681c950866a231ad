/** The dialog with the users who reacted to a message. */

import { h, setChildren } from "../ui/dom.js";
import { openDialog } from "../ui/dialogs.js";
import { userAvatar } from "../content/avatars.js";
import { customEmojiImage } from "../content/markdown.js";
import { isSameEmoji } from "../state/message_events.js";
import { t } from "../ui/translation.js";
import { settingsTabs } from "../settings/forms/tabs.js";
import { reactionPath } from "./reaction_paths.js";

const PAGE_SIZE = 100;

/** Open the list of users of each reaction to a message; `emoji` is the reaction that is shown first. */
export function openReactionUsers(context, message, emoji = null) {
  const reactions = message.reactions ?? [];
  openDialog(t("Reactions"), () => {
    const nodes = settingsTabs(
      t("Reactions"),
      reactions.map(reaction => {
        const list = new ReactionUsers(context, message, reaction.emoji);
        return {
          label: [emojiNode(reaction.emoji), h("span", { class: "number" }, ` ${reaction.count}`)],
          content: list.node,
          onShow: () => list.start(),
        };
      }),
    );
    const index = reactions.findIndex(reaction => emoji !== null && isSameEmoji(reaction.emoji, emoji));
    if (reactions.length > 1 && index > 0) nodes[0].children[index].click();
    return reactions.length === 1
      ? [h("p", null, emojiNode(reactions[0].emoji), ` ${reactions[0].count}`), ...nodes]
      : nodes;
  });
}

function emojiNode(emoji) {
  return emoji.id ? customEmojiImage(emoji) : h("span", { class: "emoji-text" }, emoji.name);
}

/** The users who reacted with one emoji; pages are loaded on demand. */
class ReactionUsers {
  #context;
  #path;
  #hasStarted = false;
  #lastId;

  constructor(context, message, emoji) {
    this.#context = context;
    this.#path = reactionPath(message, emoji);
    this.list = h("ul", {
      class: "reaction-users",
      "aria-label": t("Users who reacted with {emoji}", { emoji: emoji.name }),
    });
    this.footer = h("p", { class: "muted small", role: "status" });
    this.node = h("div", null, this.list, this.footer);
  }

  /** Load the first page, unless it was loaded before. */
  start() {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#appendPage();
  }

  async #appendPage() {
    const { api, state, guildId } = this.#context;
    setChildren(this.footer, t("Loading…"));
    try {
      const users = await api.request("GET", this.#path, { query: { limit: PAGE_SIZE, after: this.#lastId } });
      this.list.append(
        ...users.map(user => {
          const name = state.displayName(user, guildId);
          return h(
            "li",
            null,
            userAvatar(user, name),
            h("span", { dir: "auto" }, name),
            name === user.username ? null : h("span", { class: "muted small" }, user.username),
          );
        }),
      );
      this.#lastId = users.at(-1)?.id ?? this.#lastId;
      const isEmpty = this.list.childElementCount === 0;
      setChildren(
        this.footer,
        users.length === PAGE_SIZE
          ? this.#button(t("Show more"))
          : isEmpty
            ? t("There are no reactions with this emoji now.")
            : null,
      );
    } catch (error) {
      setChildren(
        this.footer,
        `${error.userText ?? t("The users could not be loaded.")} `,
        this.#button(t("Try again")),
      );
    }
  }

  #button(label) {
    return h("button", { type: "button", class: "link", onclick: () => this.#appendPage() }, label);
  }
}
