/** What has been read: once it is in view of somebody who looks, the platform is told, and so are their other windows. */

import { isNewer } from "./ids.js";

const SOON_MS = 700;
const waiting = new Map();

/** Note that the end of a channel is in view. */
export function noteRead(context, timeline) {
  const { state, channelId } = context;
  const newest = timeline.log.newest;
  if (!newest || !timeline.isAtBottom || document.hidden || !document.hasFocus()) return;
  const channel = state.channels.get(channelId);
  const last = isNewer(channel?.last_message_id, newest) ? channel.last_message_id : newest;
  if (!isNewer(last, state.lastRead(channelId)) && state.readStates.has(channelId)) return;
  state.readStates.set(channelId, { last_message_id: last, mention_count: 0 });
  state.changed("readStates", channelId, context.guildId);
  clearTimeout(waiting.get(channelId));
  waiting.set(channelId, setTimeout(() => tell(context, channelId, last), SOON_MS));
}

async function tell({ api }, channelId, messageId) {
  waiting.delete(channelId);
  try {
    await api.request("POST", `/channels/${channelId}/messages/${messageId}/ack`, { json: { token: null } });
  } catch {
    // A mark that is not kept is set again with the next message; nobody needs to hear of it.
  }
}
