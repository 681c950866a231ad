/** The bar above the messages of a channel that has unread messages out of view. */

import { creationTimeMs } from "../network/ids.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { formatTime, formatTimeOfDay } from "../ui/times.js";
import { t } from "../ui/translation.js";

/** The bar of a timeline; it offers to jump to the first unread message. */
export class UnreadBar {
  #timeline;
  #isDismissed = false;

  constructor(timeline) {
    this.#timeline = timeline;
    this.node = h("div", { class: "unread-bar", role: "region", "aria-label": t("Unread messages"), hidden: true });
  }

  /** Show the bar if messages after `lastReadId` are above the visible ones. */
  draw(lastReadId) {
    const isVisible = !this.#isDismissed && lastReadId !== null && this.#isAbove();
    if (isVisible && this.node.dataset.since !== lastReadId) this.#build(lastReadId);
    this.node.hidden = !isVisible;
  }

  /** Hide the bar until the channel is opened again. */
  dismiss() {
    this.#isDismissed = true;
    this.node.hidden = true;
  }

  /** Return whether the first unread message is above the visible part of the list, or not loaded. */
  #isAbove() {
    const { scroller, list, log } = this.#timeline;
    const divider = list.querySelector('[data-key="new"]');
    if (divider === null) return false;
    const scrollerTop = scroller.getBoundingClientRect().top;
    if (divider.getBoundingClientRect().top < scrollerTop - 1) return true;
    // The "New" line is above the first loaded message, but older messages are unread too.
    return this.#timeline.hasEarlierUnread && !log.atOldest;
  }

  #build(lastReadId) {
    this.node.dataset.since = lastReadId;
    const since = creationTimeMs(lastReadId);
    const isToday = new Date(since).toDateString() === new Date().toDateString();
    const jump = () => {
      this.dismiss();
      this.#timeline.seekUnread();
    };
    setChildren(
      this.node,
      h("p", null, t("New messages since {time}", { time: isToday ? formatTimeOfDay(since) : formatTime(since) })),
      h("button", { type: "button", class: "unread-jump", onclick: jump }, icon("up"), t("Jump to first unread")),
      h(
        "button",
        { type: "button", class: "icon-button", "aria-label": t("Dismiss"), onclick: () => this.dismiss() },
        icon("close"),
      ),
    );
  }
}
