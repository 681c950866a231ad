/** Selecting several messages of a timeline to delete them. */

import { BULK_DELETE_MAX, BULK_DELETE_MIN } from "../generated/limits.js";
import { MessageFlags, Permissions } from "../network/enums.js";
import { creationTimeMs } from "../network/ids.js";
import { platformNow } from "../network/platform_clock.js";
import { confirmAction } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { announce } from "../ui/live_region.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { t, tn } from "../ui/translation.js";

/** Maximum age of messages that are deleted in one request: 14 days, minus an hour in case the clocks differ. */
const BULK_DELETE_AGE_MAX_MS = 14 * 86_400_000 - 3_600_000;

/** The selected messages of a timeline, and the bar with the actions. */
export class MessageSelection {
  isActive = false;
  /** @type {Set<string>} */
  #ids = new Set();
  /** ID of the message that was toggled last, where a range starts; null while nothing is selected. */
  #rangeStartId = null;
  #context;
  #timeline;

  constructor(context, timeline) {
    this.#context = context;
    this.#timeline = timeline;
    this.bar = h("div", {
      class: "selection-bar",
      role: "toolbar",
      "aria-label": t("Selected messages"),
      hidden: true,
    });
  }

  /** Listen for clicks and keys in the list that select messages. */
  attach(list) {
    list.addEventListener("click", event => this.#onClick(event), true);
    list.addEventListener("keydown", event => this.#onKeydown(event), true);
  }

  /** Return whether a message can be selected: whether the user may delete it. */
  canSelect(message) {
    if (message === undefined || message.flags & MessageFlags.EPHEMERAL) return false;
    const isMine = message.author.id === this.#context.me.id && !message.webhook_id;
    return isMine || this.#context.state.can(message.channel_id, Permissions.MANAGE_MESSAGES);
  }

  /** Start to select messages, with one selected. */
  start(message) {
    this.isActive = true;
    this.#ids = new Set([message.id]);
    this.#rangeStartId = message.id;
    this.#update();
  }

  /** Stop selecting and focus the composer. */
  stop() {
    if (!this.isActive) return;
    this.isActive = false;
    this.#ids.clear();
    this.#rangeStartId = null;
    this.draw();
    announce(t("Selection ended."));
    this.#timeline.dispatchEvent(new CustomEvent("focus-composer", { bubbles: true }));
  }

  /** Update the check boxes and the bar to the selection, after deselecting messages that are no longer loaded. */
  draw() {
    const { list, log } = this.#timeline;
    if (!this.isActive && !this.#timeline.classList.contains("selecting")) return;
    this.#timeline.classList.toggle("selecting", this.isActive);
    if (this.isActive) for (const id of this.#ids) if (log.find(id) === undefined) this.#ids.delete(id);
    for (const row of list.querySelectorAll(".message[data-message-id]")) {
      const id = row.dataset.messageId;
      row.classList.toggle("selected", this.#ids.has(id));
      let checkbox = row.querySelector(":scope > .select-box");
      if (!this.isActive || !this.canSelect(log.find(id))) {
        checkbox?.remove();
        continue;
      }
      if (checkbox === null) {
        checkbox = h("input", {
          type: "checkbox",
          class: "select-box",
          tabindex: "-1",
          "aria-label": t("Select message"),
        });
        row.append(checkbox);
      }
      checkbox.checked = this.#ids.has(id);
    }
    this.bar.hidden = !this.isActive;
    if (!this.isActive) return;
    const count = this.#ids.size;
    if (this.bar.dataset.count === String(count) && this.bar.childElementCount) return;
    this.bar.dataset.count = String(count);
    const hadFocus = this.bar.contains(document.activeElement);
    setChildren(
      this.bar,
      h("p", null, tn("{count} message selected", "{count} messages selected", count)),
      h("button", { type: "button", class: "button quiet small", onclick: () => this.stop() }, t("Cancel")),
      h(
        "button",
        {
          type: "button",
          class: "button danger small",
          disabled: count === 0,
          onclick: () => this.#confirmAndDelete(),
        },
        t("Delete"),
      ),
    );
    if (hadFocus) this.bar.querySelector("button")?.focus();
  }

  #update() {
    this.draw();
    announce(this.bar.querySelector("p")?.textContent ?? "");
  }

  /**
   * Select or deselect a message; with `isRange`, select the messages from the last toggled one to this one.
   *
   * If the last toggled message is no longer loaded, only this message changes. Messages beyond the maximum are not selected.
   */
  #toggle(message, isRange) {
    const { messages } = this.#timeline.log;
    const startIndex = isRange ? messages.findIndex(other => other.id === this.#rangeStartId) : -1;
    if (startIndex === -1 && this.#ids.has(message.id)) this.#ids.delete(message.id);
    else {
      const endIndex = messages.findIndex(other => other.id === message.id);
      const [first, last] = startIndex === -1 ? [endIndex, endIndex] : [startIndex, endIndex].sort((a, b) => a - b);
      this.#select(messages.slice(first, last + 1).filter(other => this.canSelect(other)));
    }
    this.#rangeStartId = message.id;
    this.#update();
  }

  /** Select messages up to the maximum, and show a notice if there are more. */
  #select(messages) {
    const newIds = messages.map(message => message.id).filter(id => !this.#ids.has(id));
    const remainingCount = BULK_DELETE_MAX - this.#ids.size;
    for (const id of newIds.slice(0, remainingCount)) this.#ids.add(id);
    if (newIds.length > remainingCount)
      showNotice(
        tn("You can select up to {count} message.", "You can select up to {count} messages.", BULK_DELETE_MAX),
      );
  }

  #messageOf(event) {
    const row = event.target.closest?.(".message[data-message-id]");
    return row ? this.#timeline.log.find(row.dataset.messageId) : undefined;
  }

  #onClick(event) {
    const message = this.#messageOf(event);
    const isControl = event.target.closest("a, button, input:not(.select-box), textarea, video, audio") !== null;
    if (message === undefined || (!this.isActive && (!event.shiftKey || isControl))) return;
    if (!this.canSelect(message)) return;
    event.preventDefault();
    event.stopPropagation();
    getSelection()?.removeAllRanges();
    // The browser restores a check box after a canceled click, so the selection changes after the event.
    setTimeout(() => (this.isActive ? this.#toggle(message, event.shiftKey) : this.start(message)));
  }

  #onKeydown(event) {
    if (!this.isActive || (event.key !== "Escape" && event.key !== " ")) return;
    event.preventDefault();
    event.stopPropagation();
    const message = this.#messageOf(event);
    if (event.key === "Escape") this.stop();
    else if (this.canSelect(message)) this.#toggle(message, event.shiftKey);
  }

  async #confirmAndDelete() {
    const ids = [...this.#ids];
    const title = tn("Delete this message?", "Delete {count} messages?", ids.length);
    if (!(await confirmAction(title, t("This cannot be undone."), t("Delete")))) return;
    const isDone = await runAndReport(() => this.#deleteMessages(ids));
    if (!isDone) return;
    showNotice(tn("The message was deleted.", "{count} messages were deleted.", ids.length), "done");
    this.stop();
  }

  /** Delete messages: recent ones in one request if the user can manage the messages of a guild, all others one by one. */
  async #deleteMessages(ids) {
    const { api, state, channelId, guildId } = this.#context;
    const path = `/channels/${channelId}/messages`;
    const canDeleteInBulk = guildId !== null && state.can(channelId, Permissions.MANAGE_MESSAGES);
    const recentIds = ids.filter(id => platformNow() - creationTimeMs(id) < BULK_DELETE_AGE_MAX_MS);
    const bulkIds = canDeleteInBulk && recentIds.length >= BULK_DELETE_MIN ? recentIds : [];
    if (bulkIds.length) {
      await api.request("POST", `${path}/bulk-delete`, { json: { messages: bulkIds } });
      state.apply("MESSAGE_DELETE_BULK", { ids: bulkIds, channel_id: channelId, guild_id: guildId });
    }
    for (const id of ids.filter(other => !bulkIds.includes(other))) {
      await api.request("DELETE", `${path}/${id}`);
      state.apply("MESSAGE_DELETE", { id, channel_id: channelId, guild_id: guildId });
    }
  }
}
