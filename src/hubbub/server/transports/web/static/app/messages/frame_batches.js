/** Division of new messages into frames: after a delayed frame many messages wait, and drawing all of them at once takes long. */

/** Number of new messages that a frame draws, unless a third of those that wait is more. */
const NEW_ROWS_PER_FRAME = 5;

export class FrameBatches {
  /** ID of the newest drawn message, or null. @type {string | null} */
  #drawnId = null;

  /**
   * Return the messages to draw in this frame, and whether these are all.
   *
   * @param {any[]} allMessages
   * @param {string} myId
   * @param {boolean} canWait whether new messages can be drawn later, which is so while the view follows the channel
   */
  next(allMessages, myId, canWait) {
    const drawnCount = 1 + allMessages.findLastIndex(({ id }) => id === this.#drawnId);
    const waitingMessages = allMessages.slice(drawnCount);
    const count = Math.max(NEW_ROWS_PER_FRAME, Math.ceil(waitingMessages.length / 3));
    // A message of the user replaces its pending row, which is gone already.
    const hasOwnMessage = waitingMessages.some(({ author }) => author.id === myId);
    const isComplete = !canWait || !drawnCount || waitingMessages.length <= count || hasOwnMessage || document.hidden;
    const messages = isComplete ? allMessages : allMessages.slice(0, drawnCount + count);
    this.#drawnId = messages.at(-1)?.id ?? null;
    return { messages, isComplete };
  }
}
