/** Desktop notifications and sounds for new messages that notify the user (decisions/0104). */

import { subscribedRegistration } from "../network/push.js";
import { notifies } from "../state/notification_rules.js";
import { channelPath } from "../ui/router.js";
import { channelTitle } from "../content/avatars.js";
import { isUserMessage, summarizeMessage, systemMessageText } from "../content/message_text.js";
import { playNotificationSound } from "./sound.js";

const BODY_LENGTH_MAX = 300;
/** Time for which a window holds the lock of a message, so that the other windows of the browser stay silent. */
const LOCK_MS = 3_000;

/** Return the browser's permission for notifications: `granted`, `denied`, `default` (not asked yet) or `unsupported`. */
export const notificationPermission = () => globalThis.Notification?.permission ?? "unsupported";

/** Notify the user about new messages while the page is open. */
export function startNotifications(context) {
  context.gateway.addEventListener("MESSAGE_CREATE", ({ detail }) => onMessage(context, detail));
}

async function onMessage(context, message) {
  const { state } = context;
  const channel = state.channels.get(message.channel_id);
  if (channel === undefined || !state.ready || !notifies(state, channel, message)) return;
  if (state.statusOf(state.me.id) === "dnd" || state.settings.status === "dnd") return;
  const isFocused = !document.hidden && document.hasFocus();
  if (isFocused && channel.id === context.channelId) return;
  await runInOneWindow(`hubbub-message-${message.id}`, () => {
    if (state.settings.notification_sounds !== false) playNotificationSound();
    if (!isFocused) showNotification(context, channel, message);
  });
}

/** Run a function in only one of the windows of the browser; in all of them if the browser has no locks. */
async function runInOneWindow(name, run) {
  if (navigator.locks === undefined) {
    run();
    return;
  }
  await navigator.locks.request(name, { ifAvailable: true }, async lock => {
    if (lock === null) return;
    run();
    await new Promise(resolve => setTimeout(resolve, LOCK_MS));
  });
}

async function showNotification(context, channel, message) {
  const { state } = context;
  if (state.settings.desktop_notifications === false || notificationPermission() !== "granted") return;
  const { title, body } = notificationTexts(context, channel, message);
  const path = channelPath(channel, message.id);
  const options = { body, tag: channel.id, silent: true };
  // The service worker finds this notification when the push message arrives, and does not show a second one.
  const registration = await subscribedRegistration();
  if (registration !== null) {
    const notificationData = { path, channelId: channel.id, messageId: message.id };
    await registration.showNotification(title, { ...options, data: notificationData });
    return;
  }
  let notification;
  try {
    notification = new Notification(title, options);
  } catch {
    // Browsers on phones show notifications of service workers only, so this message has none.
    return;
  }
  notification.addEventListener("click", () => {
    window.focus();
    context.go(path);
    notification.close();
  });
}

/** Return the title and body of a notification. */
export function notificationTexts(context, channel, message) {
  const { state } = context;
  const author = state.displayName(message.author, channel.guild_id);
  const guild = state.guilds.get(channel.guild_id);
  const place = guild ? `#${channelTitle(channel, state)}, ${guild.name}` : channelTitle(channel, state);
  const body = isUserMessage(message) ? summarizeMessage(message, context) : systemMessageText(message, context);
  return { title: place === author ? author : `${author} (${place})`, body: String(body).slice(0, BODY_LENGTH_MAX) };
}
