/** Actions of a message: a toolbar on the hovered or focused row, keyboard shortcuts and a menu. */

import { MessageFlags, Permissions, canStartThreads } from "../network/enums.js";
import { markUnread } from "../state/read_markers.js";
import { copyText } from "../ui/clipboard.js";
import { iconButton } from "../ui/controls.js";
import { confirmAction } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { announce } from "../ui/live_region.js";
import { runAndReport } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { channelPath } from "../ui/router.js";
import { matchShortcut } from "../ui/shortcuts.js";
import { t } from "../ui/translation.js";
import { openEmojiPicker } from "../content/emoji/picker.js";
import { isUserMessage, summarizeMessage } from "../content/message_text.js";
import { reportItem } from "../reports/report_items.js";
import { openProfile } from "../users/profile.js";
import { showReactionUsers, toggleReaction } from "./reactions.js";

/** The toolbar of a timeline, which moves to the hovered or focused row. */
export class MessageToolbar {
  /** ID of the message that is being edited, or null. @type {string | null} */
  editedMessageId = null;
  #context;
  #timeline;
  #bar;

  constructor(context, timeline) {
    this.#context = context;
    this.#timeline = timeline;
    this.#bar = h("div", { class: "message-bar", role: "toolbar", "aria-label": t("Message") });
  }

  /** Show the toolbar on the hovered or focused row of a list, open profiles by a click, and menus by a right click. */
  attach(list) {
    const showForEvent = event => this.#show(event.target.closest?.(".message[data-message-id]"));
    list.addEventListener("pointerover", showForEvent);
    list.addEventListener("focusin", showForEvent);
    list.addEventListener("pointerleave", () => this.#bar.contains(document.activeElement) || this.#bar.remove());
    list.addEventListener("click", event => {
      const userId = event.target.closest?.("[data-user-id]")?.dataset.userId;
      if (userId) openProfile(this.#context, userId);
    });
    list.addEventListener("contextmenu", event => {
      const userId = event.target.closest?.("[data-user-id]")?.dataset.userId;
      if (userId) {
        event.preventDefault();
        const detail = { anchor: { x: event.clientX, y: event.clientY }, context: this.#context, userId };
        list.dispatchEvent(new CustomEvent("open-member-menu", { bubbles: true, detail }));
        return;
      }
      const row = event.target.closest?.(".message[data-message-id]");
      if (!row || event.target.closest("a, img, textarea, video") || String(getSelection())) return;
      event.preventDefault();
      this.#show(row);
      const message = this.#find(row);
      if (message !== undefined) this.#openMenu(message, { x: event.clientX, y: event.clientY });
    });
  }

  /** Handle a key pressed on a row. */
  handleKey(event, row) {
    const shortcut = matchShortcut(event, "message");
    const message = this.#find(row);
    if (message === undefined) return;
    const action = {
      reply: () => this.#reply(message),
      edit: () => this.#edit(message),
      react: () => this.#react(message, row),
      delete: () => this.#delete(message),
      unread: () => this.#markUnread(message),
      menu: () => this.#openMenu(message, row),
    }[shortcut];
    if (action === undefined || (shortcut === "edit" && !this.#isMine(message))) return;
    event.preventDefault();
    action();
  }

  /** Stop editing a message and focus the composer. */
  stopEditing(messageId) {
    if (this.editedMessageId !== messageId) return;
    this.editedMessageId = null;
    this.#timeline.draw();
    this.#timeline.dispatchEvent(new CustomEvent("focus-composer", { bubbles: true }));
  }

  /** Show the form that edits a message in its row. */
  startEditing(message) {
    this.editedMessageId = message.id;
    this.#timeline.isFollowing = false;
    this.#timeline.draw();
  }

  #find(row) {
    return this.#timeline.log.find(row?.dataset.messageId);
  }

  #isMine(message) {
    return message.author.id === this.#context.me.id && !message.webhook_id;
  }

  #can(message, bits) {
    return this.#context.state.can(message.channel_id, bits);
  }

  #show(row) {
    const message = this.#find(row);
    if (message === undefined || this.#bar.parentElement === row) return;
    const isStored = !(message.flags & MessageFlags.EPHEMERAL);
    this.#bar.replaceChildren(
      ...[
        isStored &&
          this.#can(message, Permissions.ADD_REACTIONS) &&
          iconButton("smile", t("React"), event => this.#react(message, event.currentTarget)),
        isStored &&
          isUserMessage(message) &&
          this.#can(message, Permissions.SEND_MESSAGES) &&
          iconButton("reply", t("Reply"), () => this.#reply(message)),
        isStored &&
          this.#isMine(message) &&
          isUserMessage(message) &&
          iconButton("edit", t("Edit"), () => this.#edit(message)),
        iconButton("more", t("More"), event => this.#openMenu(message, event.currentTarget), {
          "aria-haspopup": "menu",
        }),
      ].filter(Boolean),
    );
    row.append(this.#bar);
  }

  #react(message, anchor) {
    openEmojiPicker(anchor, this.#context, emoji => toggleReaction(message, emoji, this.#context));
  }

  #reply(message) {
    this.#timeline.dispatchEvent(new CustomEvent("reply", { bubbles: true, detail: message }));
  }

  #edit(message) {
    this.startEditing(message);
  }

  async #delete(message) {
    const { api, state } = this.#context;
    if (!this.#isMine(message) && !this.#can(message, Permissions.MANAGE_MESSAGES)) return;
    const quote = h("blockquote", null, summarizeMessage(message, this.#context));
    if (!(await confirmAction(t("Delete this message?"), quote, t("Delete")))) return;
    const isDeleted = await runAndReport(() =>
      api.request("DELETE", `/channels/${message.channel_id}/messages/${message.id}`),
    );
    if (isDeleted) state.apply("MESSAGE_DELETE", { id: message.id, channel_id: message.channel_id });
  }

  /** Return whether the user may hide the embeds of a message, or show embeds that were hidden. */
  #canToggleEmbeds(message) {
    if (message.flags & MessageFlags.EPHEMERAL) return false;
    const hasEmbeds = message.embeds?.length || message.flags & MessageFlags.SUPPRESS_EMBEDS;
    return Boolean(hasEmbeds) && (this.#isMine(message) || this.#can(message, Permissions.MANAGE_MESSAGES));
  }

  /** Hide or show the embeds and link previews of a message. */
  #toggleEmbeds(message) {
    const flags = (message.flags ?? 0) ^ MessageFlags.SUPPRESS_EMBEDS;
    const path = `/channels/${message.channel_id}/messages/${message.id}`;
    return runAndReport(() => this.#context.api.request("PATCH", path, { json: { flags } }));
  }

  async #forward(message) {
    (await loadModule(() => import("./forwarding.js")))?.openForwardDialog(this.#context, message);
  }

  #markUnread(message) {
    return runAndReport(async () => {
      this.#timeline.showUnreadAfter(await markUnread(this.#context, message));
      announce(t("Marked as unread."));
    });
  }

  async #openMenu(message, anchor) {
    const context = this.#context,
      { api, state, webUrl } = context;
    const channel = state.channels.get(message.channel_id);
    const isStored = !(message.flags & MessageFlags.EPHEMERAL);
    const path = `/channels/${message.channel_id}/messages`;
    const togglePinned = () =>
      runAndReport(() => api.request(message.pinned ? "DELETE" : "PUT", `${path}/pins/${message.id}`));
    const commands = isStored && isUserMessage(message) ? await this.#commandItems(message) : [];
    openMenu(anchor, t("Message"), [
      isStored &&
        isUserMessage(message) &&
        this.#can(message, Permissions.SEND_MESSAGES) && {
          label: t("Reply"),
          icon: "reply",
          onClick: () => this.#reply(message),
        },
      isStored &&
        this.#isMine(message) &&
        isUserMessage(message) && { label: t("Edit"), icon: "edit", onClick: () => this.#edit(message) },
      isStored &&
        isUserMessage(message) &&
        this.#can(message, Permissions.PIN_MESSAGES) && {
          label: message.pinned ? t("Unpin") : t("Pin"),
          icon: "pin",
          onClick: togglePinned,
        },
      isStored &&
        channel?.guild_id &&
        !message.thread &&
        canStartThreads(channel) &&
        this.#can(message, Permissions.CREATE_PUBLIC_THREADS) && {
          label: t("Create thread"),
          icon: "thread",
          onClick: () => createThread(context, message),
        },
      isStored &&
        isUserMessage(message) &&
        !message.poll &&
        this.#can(message, Permissions.READ_MESSAGE_HISTORY) && {
          label: t("Forward"),
          icon: "forward",
          onClick: () => this.#forward(message),
        },
      this.#canToggleEmbeds(message) && {
        label: message.flags & MessageFlags.SUPPRESS_EMBEDS ? t("Show embeds") : t("Remove all embeds"),
        icon: "hide",
        onClick: () => this.#toggleEmbeds(message),
      },
      message.reactions?.length && {
        label: t("Show reactions"),
        icon: "smile",
        onClick: () => showReactionUsers(context, message),
      },
      isStored && { label: t("Mark as unread"), icon: "dot", onClick: () => this.#markUnread(message) },
      message.content && {
        label: t("Copy text"),
        icon: "file",
        onClick: () => copyText(message.content, t("Text copied.")),
      },
      isStored && {
        label: t("Copy link"),
        icon: "link",
        onClick: () =>
          copyText(webUrl + channelPath(channel ?? { id: message.channel_id }, message.id), t("Link copied.")),
      },
      this.#timeline.selection.canSelect(message) && {
        label: t("Select messages"),
        icon: "check",
        onClick: () => this.#timeline.selection.start(message),
      },
      ...commands,
      isStored &&
        !this.#isMine(message) &&
        reportItem(context, { kind: "message", id: message.id, channel_id: message.channel_id }),
      isStored &&
        (this.#isMine(message) || this.#can(message, Permissions.MANAGE_MESSAGES)) && {
          label: t("Delete"),
          icon: "bin",
          isDangerous: true,
          onClick: () => this.#delete(message),
        },
    ]);
  }

  /** Return the message commands of apps as menu items. */
  async #commandItems(message) {
    const context = this.#context;
    const module = await loadModule(() => import("../commands/context_menu.js"));
    try {
      const entries = (await module?.fetchMessageCommands?.(context, message)) ?? [];
      return entries.map(entry => ({
        label: entry.label,
        icon: "play",
        onClick: () => entry.run(),
      }));
    } catch {
      return [];
    }
  }
}

async function createThread(context, message) {
  (await loadModule(() => import("../channels/thread_form.js")))?.openThreadForm(context, message);
}
