/** The user's presence. Status and activities are sent together, because each update replaces the previous one. */

import { Opcode } from "./enums.js";

const own = { status: "online", activities: [] };

/** Change part of the presence and send it. @param {{status?: string, activities?: any[]}} changes */
export function updatePresence(gateway, changes) {
  Object.assign(own, changes);
  gateway.send(Opcode.PRESENCE_UPDATE, { since: own.status === "idle" ? Date.now() : null, afk: false, ...own });
}

/** Send the presence again when a new session starts. */
export function restorePresence(gateway) {
  gateway.addEventListener("READY", () => own.status !== "online" && updatePresence(gateway, {}));
}
