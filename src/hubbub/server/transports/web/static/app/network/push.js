/** The service worker of the client and the push subscription of this browser (decisions/0105). */

const WORKER_PATH = "/service_worker.js";
const SCOPE = "/app";
const SUBSCRIPTIONS_PATH = "/users/@me/push-subscriptions";

/** Trusted Types policy that allows the URL of the service worker and no other. */
const policy = /** @type {any} */ (window).trustedTypes?.createPolicy("service-worker", {
  createScriptURL(url) {
    if (url !== WORKER_PATH) throw new TypeError("not the service worker");
    return url;
  },
});

/** @type {Promise<ServiceWorkerRegistration | null> | null} */
let registrationPromise = null;
let isSubscribed = false;

/** Register the service worker and return its registration; null if the browser has no service workers or rejects this one. */
export function registerServiceWorker() {
  registrationPromise ??= register();
  return registrationPromise;
}

async function register() {
  // Pages that are not served over HTTPS have no service workers, and private windows of some browsers reject them; the client
  // then works without push.
  if (!("serviceWorker" in navigator)) return null;
  try {
    const url = policy?.createScriptURL(WORKER_PATH) ?? WORKER_PATH;
    return await navigator.serviceWorker.register(url, { scope: SCOPE, updateViaCache: "none" });
  } catch {
    return null;
  }
}

/** Return the registration if this browser is subscribed, otherwise null. */
export const subscribedRegistration = async () => (isSubscribed ? await registerServiceWorker() : null);

/**
 * Return why this browser cannot receive push notifications, or null:
 * `insecure`, `home-screen` (iOS allows them for installed apps only), `unsupported` or `denied`.
 */
export function pushObstacle() {
  if (!window.isSecureContext) return "insecure";
  if (!("PushManager" in window) || !("serviceWorker" in navigator) || !("Notification" in window))
    return /iPhone|iPad/.test(navigator.userAgent) ? "home-screen" : "unsupported";
  return Notification.permission === "denied" ? "denied" : null;
}

/**
 * Return whether this browser is subscribed, and why it cannot subscribe (`disabled`: the operator disabled it).
 *
 * @returns {Promise<{isOn: boolean, obstacle: string | null}>}
 */
export async function fetchPushState(api) {
  const obstacle = pushObstacle();
  if (obstacle !== null) return { isOn: false, obstacle };
  const [settings, subscription] = await Promise.all([api.request("GET", SUBSCRIPTIONS_PATH), findSubscription()]);
  if (settings.public_key === null) return { isOn: false, obstacle: "disabled" };
  return { isOn: findStored(settings, subscription) !== undefined, obstacle: null };
}

/** Ask for permission and, if the user grants it, subscribe this browser and report the subscription to the server. */
export async function subscribeToPush({ api }) {
  if ((await Notification.requestPermission()) !== "granted") return;
  const { public_key: publicKey } = await api.request("GET", SUBSCRIPTIONS_PATH);
  await registerServiceWorker();
  const { pushManager } = await navigator.serviceWorker.ready;
  const key = decodeBase64Url(publicKey);
  let subscription = await pushManager.getSubscription();
  if (subscription !== null && !hasKey(subscription, key)) {
    // The server has a new key; the browser accepts it only after the end of the old subscription.
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  await api.request("POST", SUBSCRIPTIONS_PATH, { json: subscription.toJSON() });
  isSubscribed = true;
}

/** End the subscription of this browser, also on the server. */
export async function unsubscribeFromPush({ api }) {
  const [settings, subscription] = await Promise.all([api.request("GET", SUBSCRIPTIONS_PATH), findSubscription()]);
  const storedSubscription = findStored(settings, subscription);
  if (storedSubscription !== undefined) await api.request("DELETE", `${SUBSCRIPTIONS_PATH}/${storedSubscription.id}`);
  await endPushSubscription();
}

/** End the subscription of this browser and close its notifications; the server deletes it when the token is revoked. */
export async function endPushSubscription() {
  isSubscribed = false;
  const registration = await navigator.serviceWorker?.getRegistration(SCOPE);
  for (const notification of (await registration?.getNotifications()) ?? []) notification.close();
  await (await registration?.pushManager?.getSubscription())?.unsubscribe();
}

/**
 * Synchronize the subscription of this browser with those of the login session on the server.
 *
 * A subscription of an earlier login ends, because another user may have logged in. It also ends if the operator
 * disabled push. A subscription that the server does not know, or whose key has changed, is renewed. Other
 * subscriptions of the login session are deleted.
 */
export async function syncPushSubscription({ api }) {
  const subscription = pushObstacle() === null ? await findSubscription() : null;
  if (subscription === null) return;
  const settings = await api.request("GET", SUBSCRIPTIONS_PATH);
  if (settings.public_key === null || settings.subscriptions.length === 0) {
    await endPushSubscription();
    return;
  }
  const storedSubscription = findStored(settings, subscription);
  if (storedSubscription === undefined || !hasKey(subscription, decodeBase64Url(settings.public_key)))
    await subscribeToPush({ api });
  else isSubscribed = true;
  for (const { id } of settings.subscriptions)
    if (id !== storedSubscription?.id) await api.request("DELETE", `${SUBSCRIPTIONS_PATH}/${id}`);
}

/** @returns {Promise<PushSubscription | null>} */
async function findSubscription() {
  const registration = await registerServiceWorker();
  return (await registration?.pushManager.getSubscription()) ?? null;
}

const findStored = (settings, subscription) =>
  settings.subscriptions.find(({ endpoint }) => endpoint === subscription?.endpoint);

/** Return whether a subscription was made with a key; true if the browser does not reveal the key of the subscription. */
function hasKey(subscription, key) {
  const currentKey = subscription.options?.applicationServerKey;
  if (!currentKey) return true;
  const bytes = new Uint8Array(currentKey);
  return bytes.length === key.length && bytes.every((byte, index) => byte === key[index]);
}

function decodeBase64Url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), char => char.charCodeAt(0));
}
