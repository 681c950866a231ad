/**
 * Service worker of the chat client: shows push notifications and opens their channels (decisions/0105).
 *
 * It has no fetch handler and no cache, so the browser loads every page and module from the server.
 */

const worker = /** @type {any} */ (globalThis);
const CLIENT_PATH = "/app";
const ICON_PATH = "/static/icons/app-192.png";
const BADGE_PATH = "/static/icons/badge-96.png";
const FALLBACK_PAYLOAD = { title: "Hubbub", body: "New message", path: CLIENT_PATH };

worker.addEventListener("install", () => worker.skipWaiting());

worker.addEventListener("activate", event => event.waitUntil(worker.clients.claim()));

worker.addEventListener("push", event => event.waitUntil(showNotification(readPayload(event.data))));

worker.addEventListener("notificationclick", event => {
  event.notification.close();
  event.waitUntil(openPath(event.notification.data?.path ?? CLIENT_PATH));
});

function readPayload(pushData) {
  try {
    return { ...FALLBACK_PAYLOAD, ...pushData.json() };
  } catch {
    // Browsers require a notification for every push message, also for one that cannot be read.
    return FALLBACK_PAYLOAD;
  }
}

async function showNotification({ title, body, path, channel_id: channelId, message_id: messageId }) {
  const windows = await listClientWindows();
  // A page in use shows its own notifications.
  if (windows.some(window => window.focused)) return;
  const shownNotifications = await worker.registration.getNotifications({ tag: channelId ?? "" });
  // A page in the background may have shown the same message already.
  const isShown =
    messageId !== undefined && shownNotifications.some(notification => notification.data?.messageId === messageId);
  await worker.registration.showNotification(title, {
    body,
    icon: ICON_PATH,
    badge: BADGE_PATH,
    tag: channelId ?? "",
    // `renotify` without a tag is a TypeError.
    renotify: channelId !== undefined && !isShown,
    silent: isShown,
    data: { path, channelId, messageId },
  });
}

/** Return the windows that show the chat client, the window that was focused last first. */
async function listClientWindows() {
  const windows = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.filter(window => {
    const { pathname } = new URL(window.url);
    return pathname === CLIENT_PATH || pathname.startsWith(`${CLIENT_PATH}/`);
  });
}

/** Show a path in the window that was used last, or in a new one. */
async function openPath(path) {
  const [window] = await listClientWindows();
  if (window === undefined) {
    await worker.clients.openWindow(path);
    return;
  }
  window.postMessage({ type: "open", path });
  await window.focus().catch(() => {});
}
