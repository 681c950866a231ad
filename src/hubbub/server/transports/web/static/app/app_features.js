/** Startup of the app features: modals, activities and activity links. */

import { getInteractions } from "./network/interactions.js";
import { bindToChannel } from "./state/context.js";
import { showError } from "./ui/notices.js";
import { loadModule } from "./ui/lazy_modules.js";
import { t } from "./ui/translation.js";
import { activitiesEnabled } from "./activities/availability.js";
import { openActivity, startActivities } from "./activities/start.js";

const ACTIVITY_PATH_PATTERN = /^\/activities\/(\d{1,19})\/?$/;

/** Start the app features. Call once, before the gateway connects. */
export function startAppFeatures(context) {
  getInteractions(context).addEventListener("modal", async ({ detail }) => {
    (await loadModule(() => import("./components/modal.js")))?.openModal(detail, context);
  });
  startActivities(context);
  document.addEventListener("click", event => onLinkClick(event, context));
}

/**
 * Open a clicked activity link in the channel in view (spec/activities.md#9). Without a channel, or if activities are
 * disabled, the browser follows the link.
 */
function onLinkClick(event, context) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!link || !context.channelId || !activitiesEnabled()) return;
  const url = new URL(link.getAttribute("href"), location.href);
  const match = ACTIVITY_PATH_PATTERN.exec(url.pathname);
  if (!match || (url.origin !== location.origin && url.origin !== new URL(context.webUrl).origin)) return;
  event.preventDefault();
  const [, applicationId] = match;
  const authorId = findMessageAuthorId(link, context);
  openLink(bindToChannel(context, context.channelId), applicationId, url.searchParams, authorId);
}

/** Return the author's ID of the message with the link, or undefined. The author is the referrer if the link names none. */
function findMessageAuthorId(link, { state, channelId }) {
  const id = link.closest("[data-message-id]")?.dataset.messageId;
  return id ? state.logs.get(channelId)?.find(id)?.author.id : undefined;
}

/** Open the activity of a link, with the parameters that the server returns for it. */
async function openLink(context, applicationId, searchParams, authorId) {
  const query = {};
  for (const name of ["link_id", "custom_id", "referrer_id"])
    if (searchParams.get(name)) query[name] = searchParams.get(name);
  try {
    const target = await context.api.request("GET", `/activities/${applicationId}/link`, { query });
    await openActivity(context, {
      applicationId,
      customId: target.custom_id,
      referrerId: target.referrer_id ?? authorId,
    });
  } catch (error) {
    showError(error, t("The activity could not be opened."));
  }
}
