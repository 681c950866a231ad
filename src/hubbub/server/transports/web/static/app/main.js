/** Entry point of the chat client. If the start fails, the page for browsers without script is shown again. */

import { CloseCode } from "./generated/enums.js";
import { Api } from "./network/api.js";
import { claimStorage } from "./network/browser_storage.js";
import { Gateway } from "./network/gateway.js";
import { openLoginPage } from "./network/login.js";
import { followSettings } from "./network/own_presence.js";
import { createContext } from "./state/context.js";
import { startReadStateSync } from "./state/read_state_sync.js";
import { State } from "./state/state.js";
import { Router } from "./ui/router.js";
import { startNotifications } from "./notifications/desktop.js";
import { startServiceWorker } from "./notifications/service_worker.js";
import { startUserActivity } from "./notifications/user_activity.js";
import { startCalls } from "./calls/start.js";
import { startAppFeatures } from "./app_features.js";
import { Shell } from "./shell.js";

/**
 * Request the user's ID and token with the page's form token; return null if the user is not logged in. The token is
 * kept in memory only (decisions/0057).
 */
async function requestToken(formToken) {
  const body = new URLSearchParams({ form_token: formToken });
  const response = await fetch("/app/token", {
    method: "POST",
    body,
    cache: "no-store",
    headers: { Accept: "application/json" },
  });
  // A user who is not logged in is redirected to the login page.
  if (response.redirected || response.status === 401) return null;
  if (!response.ok) throw new Error(`no token: ${response.status}`);
  return await response.json();
}

function logInAgain() {
  openLoginPage(location.pathname);
}

/** Start the client, unless the bootstrap script found that the browser cannot run it. */
async function start() {
  const meta = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=hubbub-client]"));
  const root = document.documentElement;
  if (!root.classList.contains("has-client") || meta === null) return;
  try {
    const credentials = await requestToken(meta.dataset.formToken);
    if (credentials === null) {
      logInAgain();
      return;
    }
    claimStorage(credentials.user_id);
    const webUrl = meta.dataset.web;
    const state = new State();
    const api = new Api(credentials.token, logInAgain);
    const gateway = new Gateway({
      token: credentials.token,
      url: gatewayUrl(location.origin),
      resolveResumeUrl: url => resolveResumeUrl(url, webUrl),
    });
    const router = new Router();
    const context = createContext({ api, gateway, state, webUrl, go: path => router.go(path) });
    gateway.addEventListener(
      "connection",
      ({ detail }) => detail.code === CloseCode.AUTHENTICATION_FAILED && logInAgain(),
    );
    state.listenTo(gateway);
    followSettings(gateway);
    startReadStateSync(context);
    startAppFeatures(context);
    startCalls(context);
    startNotifications(context);
    startServiceWorker(context);
    startUserActivity(gateway);
    new Shell(context, router).mount();
    gateway.connect();
  } catch (error) {
    // The page for browsers without script is still there and usable.
    console.error(error);
    root.classList.remove("has-client");
  }
}

function gatewayUrl(origin) {
  return `${origin.replace(/^http/, "ws")}/gateway`;
}

/**
 * Return the gateway URL to resume at.
 *
 * A URL on the server's public host becomes a URL on this page's origin, which may be another name of the same server.
 */
function resolveResumeUrl(url, webUrl) {
  if (!url) return gatewayUrl(location.origin);
  return new URL(url).host === new URL(webUrl).host ? gatewayUrl(location.origin) : url;
}

start();
