/** Where apps begin: what must be heard from the first event on. */

import { canPlay, openActivity, startActivities } from "./activity.js";
import { at } from "./context.js";
import { interactionsOf } from "./interactions.js";
import { openModal } from "./modal.js";
import { noticeOf } from "./notices.js";

const ACTIVITY = /^\/activities\/(\d{1,19})\/?$/;

/** Called once, before the gateway is connected. */
export function startApps(context) {
  interactionsOf(context).addEventListener("modal", ({ detail }) => openModal(detail, context));
  startActivities(context);
  document.addEventListener("click", event => followed(event, context));
}

/** A link to an activity opens it in the channel that is in view (activities.md 9); everywhere else it is a page as any other. */
function followed(event, context) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!link || !context.channelId || !canPlay()) return;
  const address = new URL(link.getAttribute("href"), location.href);
  const found = ACTIVITY.exec(address.pathname);
  if (!found || (address.origin !== location.origin && address.origin !== new URL(context.web).origin)) return;
  event.preventDefault();
  openLink(at(context, context.channelId), found[1], address.searchParams, authorOf(link, context));
}

/** Who said what a link stands in; they count as who sent people here, where the link names nobody. */
function authorOf(link, { state, channelId }) {
  const id = link.closest("[data-message-id]")?.dataset.messageId;
  return id ? state.logs.get(channelId)?.find(id)?.author.id : undefined;
}

async function openLink(context, applicationId, search, author) {
  const query = {};
  for (const name of ["link_id", "custom_id", "referrer_id"]) if (search.get(name)) query[name] = search.get(name);
  try {
    const opened = await context.api.request("GET", `/activities/${applicationId}/link`, { query });
    await openActivity(context, { applicationId, customId: opened.custom_id, referrerId: opened.referrer_id ?? author });
  } catch (error) {
    noticeOf(error, "The activity could not be opened.");
  }
}
