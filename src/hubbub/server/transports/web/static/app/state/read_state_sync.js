/** Synchronization of mention counts with the server, which counts mentions again after a change of settings. */

import { nextMuteEndMs } from "./notification_rules.js";
import { isNewer } from "../network/ids.js";
import { platformNow } from "../network/platform_clock.js";

const REFRESH_DELAY_MS = 300;
const CLOCK_TOLERANCE_MS = 1_000;
/** Maximum delay of a browser timer, which is a 32-bit integer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Fetch the read states again after changes of notification settings, ends of mutes and deletions of messages. */
export function startReadStateSync(context) {
  const { gateway, state } = context;
  let refreshTimer, muteTimer;
  const scheduleRefresh = () => {
    clearTimeout(refreshTimer);
    refreshTimer = setTimeout(() => fetchReadStates(context), REFRESH_DELAY_MS);
  };
  const scheduleMuteEnd = () => {
    clearTimeout(muteTimer);
    const endMs = nextMuteEndMs(state);
    if (endMs === null) return;
    const onEnd = () => {
      state.emitChange("notificationSettings");
      scheduleRefresh();
      scheduleMuteEnd();
    };
    // The clock of the server may be behind.
    muteTimer = setTimeout(onEnd, Math.min(endMs - platformNow() + CLOCK_TOLERANCE_MS, TIMER_MAX_MS));
  };
  const onDeleted = ({ detail }) => state.readStates.get(detail.channel_id)?.mention_count && scheduleRefresh();
  gateway.addEventListener("MESSAGE_DELETE", onDeleted);
  gateway.addEventListener("MESSAGE_DELETE_BULK", onDeleted);
  state.addEventListener("change", ({ detail }) => {
    if (detail.kind === "notificationSettings" && detail.id) scheduleRefresh();
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
  const entriesById = new Map(entries.map(entry => [entry.id, entry]));
  for (const [channelId, readState] of state.readStates) {
    const entry = entriesById.get(channelId);
    // The user may have read messages that are not acknowledged yet.
    const isAhead = entry !== undefined && isNewer(readState.last_message_id, entry.last_message_id);
    state.readStates.set(channelId, { ...readState, mention_count: isAhead ? 0 : (entry?.mention_count ?? 0) });
    entriesById.delete(channelId);
  }
  for (const { id, last_message_id, mention_count } of entriesById.values())
    state.readStates.set(id, { last_message_id, mention_count, acknowledged: last_message_id });
  state.emitChange("readStates");
}
