/** Saying something: an optimistic row first, then the real one, or the reason why not and a way to try again. */

import { newNonce } from "./ids.js";

const SENTENCES = new Map([
  [50006, "Write something first."],
  [50001, "You may read here, but not write."],
  [50013, "You may read here, but not write."],
  [50007, "They do not take messages from you."],
  [50008, "Nothing is said in channels of this kind."],
  [50083, "This thread is over."],
  [160005, "This thread is locked."],
  [200000, "The guild does not allow words like these."],
  [20016, "Slow mode is on here: wait a moment."],
  [40005, "That is too large to be sent."],
  [10003, "This conversation is gone."],
]);

/** A refusal of a message in a sentence for people. */
export function sentenceOf(error) {
  if (error.status === 0) return "The platform cannot be reached.";
  return SENTENCES.get(error.code) ?? error.sentence ?? "Something broke on the platform's side.";
}

/**
 * Say something. The nonce is enforced, so a message that is tried again is never there twice.
 *
 * @param {import("./context.js").Context} context
 * @param {{content: string, files?: File[], reply?: any, mention?: boolean, stickerIds?: string[]}} draft
 */
export function say(context, { content, files = [], reply, mention = true, stickerIds }) {
  const pending = { nonce: newNonce(), content, files, reply, mention, stickerIds, state: "sending", error: null, share: 0 };
  logOf(context).pending.push(pending);
  return retry(pending, context);
}

/** Send what waits, for the first time or again. */
export async function retry(pending, context) {
  const { api, channelId } = context;
  Object.assign(pending, { state: "sending", error: null, share: 0 });
  changed(context);
  const json = { content: pending.content, nonce: pending.nonce, enforce_nonce: true };
  if (pending.reply) {
    json.message_reference = { message_id: pending.reply.id, fail_if_not_exists: false };
    json.allowed_mentions = { parse: ["users", "roles", "everyone"], replied_user: pending.mention };
  }
  if (pending.stickerIds?.length) json.sticker_ids = pending.stickerIds;
  const files = pending.files.length ? pending.files : undefined;
  if (files) json.attachments = files.map((file, id) => ({ id, filename: file.name }));
  const progress = files && (share => {
    pending.share = share;
    changed(context);
  });
  try {
    const said = await api.request("POST", `/channels/${channelId}/messages`, { json, files, progress });
    settle(pending, context);
    logOf(context).add(said);
  } catch (error) {
    if (error.name !== "ApiError") throw error;
    // The event may have come although the answer was lost.
    if (logOf(context).pending.includes(pending)) Object.assign(pending, { state: "failed", error: sentenceOf(error) });
  }
  changed(context);
}

/** Do without it. */
export function discard(pending, context) {
  settle(pending, context);
  changed(context);
}

function settle(pending, context) {
  const log = logOf(context);
  log.pending = log.pending.filter(each => each !== pending);
}

function logOf({ state, channelId }) {
  return state.logs.get(channelId) ?? state.open(channelId);
}

function changed({ state, channelId, guildId }) {
  state.changed("messages", channelId, guildId);
}
