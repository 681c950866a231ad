/** The user's presence. Status and activities are sent together, because each update replaces the previous one. */

import { ActivityType, Opcode } from "./enums.js";
import { platformNow } from "./platform_clock.js";

/** Maximum delay of a browser timer, which is a 32-bit integer. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** The presence without the custom status. `afk` is null until it is known whether the user is at the page. */
const presence = { status: "online", activities: [], afk: null };
/** The custom status of the settings, or null. @type {any} */
let customStatus = null;
let expiryTimer;

/** Change part of the presence and send it. @param {{status?: string, activities?: any[], afk?: boolean}} changes */
export function updatePresence(gateway, changes) {
  Object.assign(presence, changes);
  const activities = [...(customStatus === null ? [] : [customActivity(customStatus)]), ...presence.activities];
  gateway.send(Opcode.PRESENCE_UPDATE, {
    since: presence.status === "idle" ? Date.now() : null,
    afk: presence.afk,
    status: presence.status,
    activities,
  });
}

function customActivity({ text, emoji_id: id, emoji_name: name }) {
  return {
    type: ActivityType.CUSTOM,
    name: "Custom Status",
    ...(text === null ? {} : { state: text }),
    ...(name === null ? {} : { emoji: { id, name } }),
  };
}

/** Send the status and the custom status of the user's settings in every new session and after each change. */
export function followSettings(gateway) {
  gateway.addEventListener("READY", ({ detail }) => {
    const hasActivities = presence.activities.length > 0;
    applySettings(detail.user_settings ?? {});
    // A new session is online, without activities.
    if (presence.status !== "online" || customStatus !== null || hasActivities) updatePresence(gateway, {});
  });
  gateway.addEventListener("USER_SETTINGS_UPDATE", ({ detail }) => {
    const previousPresence = JSON.stringify([presence.status, customStatus]);
    applySettings(detail);
    if (JSON.stringify([presence.status, customStatus]) !== previousPresence) updatePresence(gateway, {});
  });
  const applySettings = settings => {
    presence.status = settings.status ?? "online";
    customStatus = settings.custom_status ?? null;
    clearTimeout(expiryTimer);
    if (!customStatus?.expires_at) return;
    const delayMs = Math.min(Math.max(Date.parse(customStatus.expires_at) - platformNow(), 0), DELAY_MAX_MS);
    expiryTimer = setTimeout(() => {
      customStatus = null;
      updatePresence(gateway, {});
    }, delayMs);
  };
}
