/** Read markers: messages in view are acknowledged to the server, which updates the user's other clients. */

import { isNewer } from "../network/ids.js";

const ACK_DELAY_MS = 700;

/** Scheduled acknowledgments by channel. @type {Map<string, {timer: number, send: (last: boolean) => void}>} */
const scheduledAcks = new Map();

/** Mark the channel as read if its end is in view and the page is focused. */
export function markRead(context, timeline) {
  const { state, channelId } = context;
  const newest = timeline.log.newest;
  if (!newest || !timeline.isAtBottom || document.hidden || !document.hasFocus()) return;
  const channel = state.channels.get(channelId),
    readState = state.readStates.get(channelId);
  const last = isNewer(channel?.last_message_id, newest) ? channel.last_message_id : newest;
  if (isNewer(last, readState?.last_message_id) || readState?.mention_count) {
    state.readStates.set(channelId, { ...readState, last_message_id: last, mention_count: 0 });
    state.emitChange("readStates", channelId, context.guildId);
  }
  // The user's own messages are marked as read locally at once, and acknowledged like others.
  if (isNewer(last, readState?.acknowledged)) scheduleAck(context, channelId, last);
}

function scheduleAck({ api, state }, channelId, messageId) {
  clearTimeout(scheduledAcks.get(channelId)?.timer);
  const send = async leaving => {
    clearTimeout(scheduledAcks.get(channelId)?.timer);
    scheduledAcks.delete(channelId);
    state.readStates.set(channelId, { ...state.readStates.get(channelId), acknowledged: messageId });
    try {
      await api.request("POST", `/channels/${channelId}/messages/${messageId}/ack`, {
        json: { token: null },
        keepalive: leaving,
      });
    } catch {
      // The next message acknowledges again, so ignore errors.
    }
  };
  scheduledAcks.set(channelId, { timer: setTimeout(() => send(false), ACK_DELAY_MS), send });
}

// Send pending acknowledgments when the page closes.
window.addEventListener("pagehide", () => {
  for (const { send } of [...scheduledAcks.values()]) send(true);
});
