/**
 * Connection of the page with its service worker: synchronization of the push subscription, opening of clicked
 * notifications, and closing of the notifications of read messages.
 */

import { isNewer } from "../network/ids.js";
import { registerServiceWorker, syncPushSubscription } from "../network/push.js";

const CLOSE_DELAY_MS = 200;

/** Synchronize the push subscription in each new session, close the notifications of read messages, and open clicked ones. */
export function startServiceWorker(context) {
  const { state } = context;
  let timer;
  const scheduleClose = () => {
    clearTimeout(timer);
    timer = setTimeout(() => closeReadNotifications(state), CLOSE_DELAY_MS);
  };
  state.addEventListener("change", ({ detail }) => {
    if (detail.kind === "ready") syncPushSubscription(context).catch(() => {});
    if (detail.kind === "ready" || detail.kind === "readStates") scheduleClose();
  });
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data?.type === "open") context.go(data.path);
  });
}

async function closeReadNotifications(state) {
  const registration = await registerServiceWorker();
  for (const notification of (await registration?.getNotifications()) ?? []) {
    const { channelId, messageId } = notification.data ?? {};
    const lastReadId = state.readStates.get(channelId)?.last_message_id;
    if (messageId && lastReadId && !isNewer(messageId, lastReadId)) notification.close();
  }
}
