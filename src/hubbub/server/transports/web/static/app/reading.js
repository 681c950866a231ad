/** What has been read: once it is in view of somebody who looks, the platform is told, and so are their other windows. */

import { isNewer } from "./ids.js";

const SOON_MS = 700;

/** Marks that are not told yet: by channel, the timer and how to tell. @type {Map<string, {timer: number, tell: (last: boolean) => void}>} */
const waiting = new Map();

/** Note that the end of a channel is in view. */
export function noteRead(context, timeline) {
  const { state, channelId } = context;
  const newest = timeline.log.newest;
  if (!newest || !timeline.isAtBottom || document.hidden || !document.hasFocus()) return;
  const channel = state.channels.get(channelId), known = state.readStates.get(channelId);
  const last = isNewer(channel?.last_message_id, newest) ? channel.last_message_id : newest;
  if (isNewer(last, known?.last_message_id) || known?.mention_count) {
    state.readStates.set(channelId, { ...known, last_message_id: last, mention_count: 0 });
    state.changed("readStates", channelId, context.guildId);
  }
  // What I say myself counts as read here at once; the platform hears of it like of the rest.
  if (isNewer(last, known?.kept)) tellSoon(context, channelId, last);
}

function tellSoon({ api, state }, channelId, messageId) {
  clearTimeout(waiting.get(channelId)?.timer);
  const tell = async leaving => {
    clearTimeout(waiting.get(channelId)?.timer);
    waiting.delete(channelId);
    state.readStates.set(channelId, { ...state.readStates.get(channelId), kept: messageId });
    try {
      await api.request("POST", `/channels/${channelId}/messages/${messageId}/ack`, { json: { token: null }, keepalive: leaving });
    } catch {
      // A mark that is not kept is set again with the next message; nobody needs to hear of it.
    }
  };
  waiting.set(channelId, { timer: setTimeout(() => tell(false), SOON_MS), tell });
}

// Somebody who goes has read what they saw.
window.addEventListener("pagehide", () => {
  for (const { tell } of [...waiting.values()]) tell(true);
});
