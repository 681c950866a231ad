/** Sending messages. A pending row is shown immediately; the message, or an error with a retry button, replaces it. */

import { ErrorCode } from "../generated/errors.js";
import { createMessageNonce } from "../network/ids.js";
import { t } from "../ui/translation.js";

const ERROR_TEXTS = new Map([
  [ErrorCode.EMPTY_MESSAGE, t("Enter a message first.")],
  [ErrorCode.MISSING_ACCESS, t("You do not have permission to send messages in this channel.")],
  [ErrorCode.MISSING_PERMISSIONS, t("You do not have permission to send messages in this channel.")],
  [ErrorCode.CANNOT_MESSAGE_USER, t("This user does not accept messages from you.")],
  [ErrorCode.CANNOT_SEND_IN_CHANNEL, t("You cannot send messages in this type of channel.")],
  [ErrorCode.THREAD_ARCHIVED, t("This thread is archived.")],
  [ErrorCode.THREAD_LOCKED, t("This thread is locked.")],
  [ErrorCode.AUTO_MODERATION_BLOCKED_MESSAGE, t("Your message was blocked by this guild's moderation rules.")],
  [ErrorCode.SLOWMODE_RATE_LIMIT, t("Slow mode is on. Wait a moment and try again.")],
  [ErrorCode.REQUEST_ENTITY_TOO_LARGE, t("The message or its files are too large.")],
  [ErrorCode.UNKNOWN_CHANNEL, t("This conversation was deleted.")],
]);

/** Return the error of a message request as text for the user. */
export function messageErrorText(error) {
  if (error.status === 0) return t("Cannot reach the server. Check your connection.");
  return (
    ERROR_TEXTS.get(error.code) ?? error.userText ?? t("Something went wrong on the server. Try again in a moment.")
  );
}

/**
 * Send a message. The server enforces the nonce, so a retry does not create a duplicate.
 *
 * @param {import("./context.js").Context} context
 * @param {{content: string, files?: File[], fileDetails?: any[], reply?: any, mentionsAuthor?: boolean, extra?: any}}
 *   draft `fileDetails` has additional fields of each attachment, and `extra` has additional fields of the message
 */
export function sendMessage(context, { mentionsAuthor = true, files = [], ...draft }) {
  const pending = {
    ...draft,
    nonce: createMessageNonce(),
    files,
    mentionsAuthor,
    state: "sending",
    error: null,
    uploadProgress: 0,
  };
  logOf(context).pending.push(pending);
  return sendPending(pending, context);
}

/** Send a pending message, for the first time or again. */
export async function sendPending(pending, context) {
  const { api, channelId } = context;
  Object.assign(pending, { state: "sending", error: null, uploadProgress: 0 });
  emitMessagesChange(context);
  const json = { content: pending.content, nonce: pending.nonce, enforce_nonce: true, ...pending.extra };
  if (pending.reply) {
    json.message_reference = { message_id: pending.reply.id, fail_if_not_exists: false };
    json.allowed_mentions = { parse: ["users", "roles", "everyone"], replied_user: pending.mentionsAuthor };
  }
  const files = pending.files.length ? pending.files : undefined;
  if (files) json.attachments = files.map((file, id) => ({ id, filename: file.name, ...pending.fileDetails?.[id] }));
  const onProgress =
    files &&
    (fraction => {
      pending.uploadProgress = fraction;
      emitMessagesChange(context);
    });
  try {
    const message = await api.request("POST", `/channels/${channelId}/messages`, { json, files, onProgress });
    removePending(pending, context);
    // Events may have changed the message since this response was written: previews of links, reactions.
    const log = logOf(context);
    if (log.find(message.id) === undefined) log.add(message);
  } catch (error) {
    if (error.name !== "ApiError") throw error;
    // The event may have arrived even though the response was lost.
    if (logOf(context).pending.includes(pending))
      Object.assign(pending, { state: "failed", error: messageErrorText(error) });
  }
  emitMessagesChange(context);
}

/** Remove a failed message without sending it again. */
export function discardPending(pending, context) {
  removePending(pending, context);
  emitMessagesChange(context);
}

function removePending(pending, context) {
  const log = logOf(context);
  log.pending = log.pending.filter(pendingMessage => pendingMessage !== pending);
}

function logOf({ state, channelId }) {
  return state.logs.get(channelId) ?? state.openLog(channelId);
}

function emitMessagesChange({ state, channelId, guildId }) {
  state.emitChange("messages", channelId, guildId);
}
