/** The user's presence. Status and activities are sent together, because each update replaces the previous one. */

import { Opcode } from "./enums.js";

const presence = { status: "online", activities: [] };

/** Change part of the presence and send it. @param {{status?: string, activities?: any[]}} changes */
export function updatePresence(gateway, changes) {
  Object.assign(presence, changes);
  gateway.send(Opcode.PRESENCE_UPDATE, {
    since: presence.status === "idle" ? Date.now() : null,
    afk: false,
    ...presence,
  });
}

/** Send the presence again when a new session starts. */
export function restorePresence(gateway) {
  gateway.addEventListener("READY", () => presence.status !== "online" && updatePresence(gateway, {}));
}
