/** The pane beside a channel that shows one of its threads. Narrow windows show a thread as the view instead. */

import { isForum, isThread } from "./network/enums.js";
import { bindToChannel } from "./state/context.js";
import { h, setChildren } from "./ui/dom.js";
import { createPart } from "./ui/layout_part.js";
import { channelPath } from "./ui/router.js";
import { t } from "./ui/translation.js";

/** The pane of the shell; hidden without a thread. */
export class ThreadPane {
  #context;
  /** The thread in the pane, or null. */
  #thread = null;
  #messageId = null;
  /** Whether another pane has the place, so that a thread is shown as the view. */
  isBlocked = false;

  constructor(context) {
    this.#context = context;
    this.node = h("aside", {
      class: "thread-pane",
      "aria-label": t("Thread"),
      hidden: true,
      onkeydown: event => this.#onKeydown(event),
    });
    this.wideScreen = window.matchMedia("(min-width: 64rem)");
  }

  get isOpen() {
    return this.#thread !== null;
  }

  /** Return whether a channel is shown in the pane, beside its parent channel. */
  accepts(channel) {
    const parent = isThread(channel) ? this.#context.state.channels.get(channel.parent_id) : undefined;
    return this.wideScreen.matches && !this.isBlocked && parent !== undefined && !isForum(parent);
  }

  /** Show a thread and focus its composer, or highlight one of its messages. */
  show(thread, messageId) {
    const isSame = this.#thread?.id === thread.id;
    const channelView = /** @type {any} */ (this.node.firstElementChild);
    if (isSame && messageId && messageId !== this.#messageId) channelView.seek(messageId);
    this.#messageId = messageId;
    this.#thread = thread;
    if (isSame) return;
    const context = bindToChannel(this.#context, thread.id);
    this.node.hidden = false;
    setChildren(this.node, createPart("hubbub-channel", context, { messageId, onClose: () => this.close() }));
    if (!messageId) this.#composer?.focus();
  }

  /** Remove the thread; a focus inside the pane moves to the link to the thread, or to the composer of the channel. */
  clear() {
    if (this.#thread === null) return;
    const path = channelPath(this.#thread);
    const hadFocus = this.node.contains(document.activeElement);
    this.#thread = null;
    this.#messageId = null;
    this.node.hidden = true;
    setChildren(this.node);
    if (!hadFocus) return;
    const link = document.querySelector(`.view .thread-line a[href="${path}"]`);
    /** @type {HTMLElement | null} */ (link ?? document.querySelector(".view textarea.compose"))?.focus();
  }

  /** Go to the channel of the thread, which closes the pane. */
  close() {
    const parent = this.#context.state.channels.get(this.#thread?.parent_id);
    if (parent !== undefined) this.#context.go(channelPath(parent));
  }

  get #composer() {
    return /** @type {HTMLElement | null} */ (this.node.querySelector("textarea.compose"));
  }

  /** Close the pane after Escape in its composer, unless the composer used the key. */
  #onKeydown(event) {
    if (event.key !== "Escape" || event.defaultPrevented || event.target !== this.#composer) return;
    event.preventDefault();
    this.close();
  }
}
