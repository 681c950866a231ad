/** Startup of the app features: modals, activities and activity links. */

import { interactionsOf } from "./network/interactions.js";
import { inChannel } from "./state/context.js";
import { showError } from "./ui/notices.js";
import { openModal } from "./components/modal.js";
import { activitiesEnabled, openActivity, startActivities } from "./activities/launcher.js";

const ACTIVITY = /^\/activities\/(\d{1,19})\/?$/;

/** Call once, before the gateway connects. */
export function startApps(context) {
  interactionsOf(context).addEventListener("modal", ({ detail }) => openModal(detail, context));
  startActivities(context);
  document.addEventListener("click", event => followed(event, context));
}

/** Open a clicked activity link in the channel in view (spec/activities.md#9). Elsewhere it is a normal link. */
function followed(event, context) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!link || !context.channelId || !activitiesEnabled()) return;
  const address = new URL(link.getAttribute("href"), location.href);
  const found = ACTIVITY.exec(address.pathname);
  if (!found || (address.origin !== location.origin && address.origin !== new URL(context.web).origin)) return;
  event.preventDefault();
  openLink(inChannel(context, context.channelId), found[1], address.searchParams, authorOf(link, context));
}

/** Return the author of the message with the link. They count as the referrer if the link has none. */
function authorOf(link, { state, channelId }) {
  const id = link.closest("[data-message-id]")?.dataset.messageId;
  return id ? state.logs.get(channelId)?.find(id)?.author.id : undefined;
}

async function openLink(context, applicationId, search, author) {
  const query = {};
  for (const name of ["link_id", "custom_id", "referrer_id"]) if (search.get(name)) query[name] = search.get(name);
  try {
    const opened = await context.api.request("GET", `/activities/${applicationId}/link`, { query });
    await openActivity(context, {
      applicationId,
      customId: opened.custom_id,
      referrerId: opened.referrer_id ?? author,
    });
  } catch (error) {
    showError(error, "The activity could not be opened.");
  }
}
