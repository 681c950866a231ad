/** Startup of activities: the code that shows an activity is loaded when one opens. */

import { getInteractions } from "../network/interactions.js";
import { bindToChannel } from "../state/context.js";
import { loadModule } from "../ui/lazy_modules.js";
import { getActivityInstances } from "./instances.js";

/** The module that shows activities; null until the first activity. */
let launcher = null;

/** Listen for activity events. Call before the gateway connects. */
export function startActivities(context) {
  context.gateway.addEventListener("READY", () => launcher?.rejoinActivity());
  getActivityInstances(context).addEventListener("change", ({ detail }) => {
    const isParticipant = detail.participants.some(participant => participant.user_id === context.me?.id);
    const { application_id: applicationId, location } = detail;
    if (launcher?.isActivityShown(detail)) {
      if (!isParticipant) launcher.endActivity();
    } else if (isParticipant && getInteractions(context).isAwaiting(applicationId, location.channel_id)) {
      // The app responded to an interaction of this user by launching its activity.
      openActivity(bindToChannel(context, location.channel_id), { applicationId });
    }
  });
}

/**
 * Join an app's activity in the channel of the context, and show it.
 *
 * @param {import("../state/context.js").Context} context
 * @param {{applicationId?: string, customId?: string|null, referrerId?: string|null}} options without an application ID
 *   the user chooses an activity
 * @returns {Promise<boolean>} whether the activity is shown
 */
export async function openActivity(context, options = {}) {
  launcher ??= await loadModule(() => import("./launcher.js"));
  return launcher === null ? false : await launcher.showActivity(context, options);
}
