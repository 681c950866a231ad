/** Read markers: messages in view are acknowledged to the server, which updates the user's other clients. */

import { BULK_ACKS_MAX } from "../generated/limits.js";
import { isNewer } from "../network/ids.js";

const ACK_DELAY_MS = 700;

/**
 * Scheduled acknowledgments by channel ID; `isLeaving` means that the page is closing.
 *
 * @type {Map<string, {timer: number, send: (isLeaving: boolean) => void}>}
 */
const scheduledAcks = new Map();

/** Mark the channel as read if its end is in view and the page is focused, unless the user marked it as unread. */
export function markRead(context, timeline) {
  const { state, channelId } = context;
  const newestId = timeline.log.newestId;
  if (!newestId || !timeline.isAtBottom || document.hidden || !document.hasFocus()) return;
  const channel = state.channels.get(channelId),
    readState = state.readStates.get(channelId);
  if (readState?.isMarkedUnread) return;
  const lastId = isNewer(channel?.last_message_id, newestId) ? channel.last_message_id : newestId;
  if (isNewer(lastId, readState?.last_message_id) || readState?.mention_count) {
    state.readStates.set(channelId, { ...readState, last_message_id: lastId, mention_count: 0 });
    state.emitChange("readStates", channelId, context.guildId);
  }
  // Messages of the user are marked as read when they arrive, but not yet acknowledged.
  if (isNewer(lastId, readState?.acknowledged)) scheduleAck(context, channelId, lastId);
}

/** Clear the flag of a channel that the user marked as unread. Call it when the user opens the channel again. */
export function resumeReading(state, channelId) {
  const readState = state.readStates.get(channelId);
  if (readState?.isMarkedUnread) state.readStates.set(channelId, { ...readState, isMarkedUnread: false });
}

/** Mark a message and all later messages as unread; return the ID of the last read message. */
export async function markUnread({ api, state }, message) {
  clearTimeout(scheduledAcks.get(message.channel_id)?.timer);
  scheduledAcks.delete(message.channel_id);
  const previousId = String(BigInt(message.id) - 1n);
  // MESSAGE_ACK, which the server sends after the request, has the number of mentions.
  state.apply("MESSAGE_ACK", { channel_id: message.channel_id, message_id: previousId, manual: true });
  await api.request("POST", `/channels/${message.channel_id}/messages/${previousId}/ack`, { json: { manual: true } });
  return previousId;
}

/** Mark the unread channels of a list as read, here and on the server. */
export async function markChannelsRead({ api, state }, channels) {
  const unreadChannels = channels.filter(channel => state.isUnread(channel.id));
  for (const channel of unreadChannels)
    state.apply("MESSAGE_ACK", { channel_id: channel.id, message_id: channel.last_message_id });
  for (let start = 0; start < unreadChannels.length; start += BULK_ACKS_MAX) {
    const batch = unreadChannels.slice(start, start + BULK_ACKS_MAX);
    await api.request("POST", "/read-states/ack-bulk", {
      json: { read_states: batch.map(channel => ({ channel_id: channel.id, message_id: channel.last_message_id })) },
    });
  }
}

function scheduleAck({ api, state }, channelId, messageId) {
  clearTimeout(scheduledAcks.get(channelId)?.timer);
  const send = async isLeaving => {
    clearTimeout(scheduledAcks.get(channelId)?.timer);
    scheduledAcks.delete(channelId);
    state.readStates.set(channelId, { ...state.readStates.get(channelId), acknowledged: messageId });
    try {
      await api.request("POST", `/channels/${channelId}/messages/${messageId}/ack`, {
        json: { token: null },
        keepalive: isLeaving,
      });
    } catch {
      // Ignore the error, because the next message in view is acknowledged again.
    }
  };
  scheduledAcks.set(channelId, { timer: setTimeout(() => send(false), ACK_DELAY_MS), send });
}

// Send pending acknowledgments when the page closes.
window.addEventListener("pagehide", () => {
  for (const { send } of [...scheduledAcks.values()]) send(true);
});
