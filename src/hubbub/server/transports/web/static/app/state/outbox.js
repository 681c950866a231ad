/** Sending messages. A pending row is shown immediately; the message, or an error with a retry button, replaces it. */

import { createMessageNonce } from "../network/ids.js";

const ERROR_TEXTS = new Map([
  [50006, "Enter a message first."],
  [50001, "You do not have permission to send messages in this channel."],
  [50013, "You do not have permission to send messages in this channel."],
  [50007, "This user does not accept messages from you."],
  [50008, "You cannot send messages in this type of channel."],
  [50083, "This thread is archived."],
  [160005, "This thread is locked."],
  [200000, "Your message was blocked by this guild's moderation rules."],
  [20016, "Slow mode is on. Wait a moment and try again."],
  [40005, "The message or its files are too large."],
  [10003, "This conversation was deleted."],
]);

/** Return the error of a message request as text for the user. */
export function messageErrorText(error) {
  if (error.status === 0) return "Cannot reach the server. Check your connection.";
  return ERROR_TEXTS.get(error.code) ?? error.sentence ?? "Something went wrong on the server. Try again in a moment.";
}

/**
 * Send a message. The nonce is enforced, so a retry never creates a duplicate.
 *
 * @param {import("./context.js").Context} context
 * @param {{content: string, files?: File[], reply?: any, mentionsAuthor?: boolean, stickerIds?: string[]}} draft
 */
export function sendMessage(context, { content, files = [], reply, mentionsAuthor = true, stickerIds }) {
  const pending = {
    nonce: createMessageNonce(),
    content,
    files,
    reply,
    mentionsAuthor,
    stickerIds,
    state: "sending",
    error: null,
    uploadProgress: 0,
  };
  logOf(context).pending.push(pending);
  return retrySend(pending, context);
}

/** Send a pending message, for the first time or again. */
export async function retrySend(pending, context) {
  const { api, channelId } = context;
  Object.assign(pending, { state: "sending", error: null, uploadProgress: 0 });
  emitMessagesChange(context);
  const json = { content: pending.content, nonce: pending.nonce, enforce_nonce: true };
  if (pending.reply) {
    json.message_reference = { message_id: pending.reply.id, fail_if_not_exists: false };
    json.allowed_mentions = { parse: ["users", "roles", "everyone"], replied_user: pending.mentionsAuthor };
  }
  if (pending.stickerIds?.length) json.sticker_ids = pending.stickerIds;
  const files = pending.files.length ? pending.files : undefined;
  if (files) json.attachments = files.map((file, id) => ({ id, filename: file.name }));
  const progress =
    files &&
    (share => {
      pending.uploadProgress = share;
      emitMessagesChange(context);
    });
  try {
    const message = await api.request("POST", `/channels/${channelId}/messages`, { json, files, progress });
    removePending(pending, context);
    logOf(context).add(message);
  } catch (error) {
    if (error.name !== "ApiError") throw error;
    // The event may have arrived even though the response was lost.
    if (logOf(context).pending.includes(pending))
      Object.assign(pending, { state: "failed", error: messageErrorText(error) });
  }
  emitMessagesChange(context);
}

/** Discard a pending message. */
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
