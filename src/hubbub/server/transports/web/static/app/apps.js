/** Where apps begin: what must be heard from the first event on. */

import { startActivities } from "./activity.js";
import { interactionsOf } from "./interactions.js";
import { openModal } from "./modal.js";

/** Called once, before the gateway is connected. */
export function startApps(context) {
  interactionsOf(context).addEventListener("modal", ({ detail }) => openModal(detail, context));
  startActivities(context);
}
