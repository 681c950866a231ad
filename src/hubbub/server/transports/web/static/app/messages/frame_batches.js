/** Batches of new messages, one per animation frame: drawing many messages at once would block the page. */

/** Minimum number of new messages to draw per frame; a third of the waiting messages, if that is more. */
const BATCH_SIZE_MIN = 5;

export class FrameBatches {
  /** ID of the newest drawn message, or null. @type {string | null} */
  #drawnId = null;

  /**
   * Return the messages to draw in this frame, and whether these are all.
   *
   * @param {any[]} allMessages
   * @param {string} myId
   * @param {boolean} canWait whether new messages can be drawn later; true while the view stays at the newest message
   */
  takeNext(allMessages, myId, canWait) {
    const drawnCount = 1 + allMessages.findLastIndex(({ id }) => id === this.#drawnId);
    const waitingMessages = allMessages.slice(drawnCount);
    const count = Math.max(BATCH_SIZE_MIN, Math.ceil(waitingMessages.length / 3));
    // The pending row of an own message is already removed, so the message must be drawn now.
    const hasOwnMessage = waitingMessages.some(({ author }) => author.id === myId);
    const isComplete = !canWait || !drawnCount || waitingMessages.length <= count || hasOwnMessage || document.hidden;
    const messages = isComplete ? allMessages : allMessages.slice(0, drawnCount + count);
    this.#drawnId = messages.at(-1)?.id ?? null;
    return { messages, isComplete };
  }
}
