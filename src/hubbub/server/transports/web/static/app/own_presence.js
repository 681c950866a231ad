/** How others see me: what I chose and what an activity says of me go out together, since each word replaces the one before. */

import { Opcode } from "./enums.js";

const own = { status: "online", activities: [] };

/** Change a part of it, and tell. @param {{status?: string, activities?: any[]}} changes */
export function showPresence(gateway, changes) {
  Object.assign(own, changes);
  gateway.send(Opcode.PRESENCE_UPDATE, { since: own.status === "idle" ? Date.now() : null, afk: false, ...own });
}

/** A new session knows nothing of what the one before was told. */
export function keepPresence(gateway) {
  gateway.addEventListener("READY", () => own.status !== "online" && showPresence(gateway, {}));
}
