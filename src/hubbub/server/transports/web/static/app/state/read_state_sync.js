/** Keeps the mention counts equal to those of the server, which counts them again after a change of settings. */

import { nextMuteEndMs } from "./notification_rules.js";
import { isNewer } from "../network/ids.js";

const REFRESH_DELAY_MS = 300;
/** Longest delay of a browser timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Read the counts again after changes of settings, ends of mutes and deletions. */
export function startReadStateSync(context) {
  const { gateway, state } = context;
  let refreshTimer, muteTimer;
  const refresh = () => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(() => fetchReadStates(context), REFRESH_DELAY_MS);
  };
  const scheduleMuteEnd = () => {
    clearTimeout(muteTimer);
    const end = nextMuteEndMs(state);
    if (end === null) return;
    const onEnd = () => {
      state.emitChange("notificationSettings");
      refresh();
      scheduleMuteEnd();
    };
    // One second later, since the clock of the server may be behind.
    muteTimer = setTimeout(onEnd, Math.min(end - Date.now() + 1000, TIMER_MAX_MS));
  };
  const onDeleted = ({ detail }) => state.readStates.get(detail.channel_id)?.mention_count && refresh();
  gateway.addEventListener("MESSAGE_DELETE", onDeleted);
  gateway.addEventListener("MESSAGE_DELETE_BULK", onDeleted);
  state.addEventListener("change", ({ detail }) => {
    if (detail.kind === "notificationSettings" && detail.id) refresh();
    if (detail.kind === "notificationSettings" || detail.kind === "ready") scheduleMuteEnd();
  });
}

async function fetchReadStates({ api, state }) {
  let entries;
  try {
    ({ entries } = await api.request("GET", "/users/@me/read-states"));
  } catch {
    // The counts stay as they are until the next change or session.
    return;
  }
  const counted = new Map(entries.map(entry => [entry.id, entry]));
  for (const [channelId, readState] of state.readStates) {
    const entry = counted.get(channelId);
    // The page may have read more than the server knows.
    const isAhead = entry !== undefined && isNewer(readState.last_message_id, entry.last_message_id);
    state.readStates.set(channelId, { ...readState, mention_count: isAhead ? 0 : (entry?.mention_count ?? 0) });
    counted.delete(channelId);
  }
  for (const { id, last_message_id, mention_count } of counted.values())
    state.readStates.set(id, { last_message_id, mention_count, acknowledged: last_message_id });
  state.emitChange("readStates");
}
