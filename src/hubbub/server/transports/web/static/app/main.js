/** Where the chat client begins: it takes the place of the page for those without script, or leaves that page as it is. */

import { Api } from "./api.js";
import { startApps } from "./apps.js";
import { makeContext } from "./context.js";
import { Gateway } from "./gateway.js";
import { Router } from "./router.js";
import { Shell } from "./shell.js";
import { State } from "./state.js";

const BAD_TOKEN = 4004;

/** The person's token, for the page's form token; it is kept in memory only (decisions/0057). */
async function askForToken(formToken) {
  const body = new URLSearchParams({ form_token: formToken });
  const response = await fetch("/app/token", { method: "POST", body, cache: "no-store", headers: { Accept: "application/json" } });
  // Somebody who is not signed in is led to the login page, whose text is no token.
  if (response.redirected || response.status === 401) return null;
  if (!response.ok) throw new Error(`no token: ${response.status}`);
  return await response.json();
}

function toLogin() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
}

async function begin() {
  const meta = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=hubbub-client]"));
  const root = document.documentElement;
  if (!root.classList.contains("has-client") || meta === null) return;
  try {
    const given = await askForToken(meta.dataset.formToken);
    if (given === null) {
      toLogin();
      return;
    }
    const web = meta.dataset.web;
    const state = new State();
    const api = new Api(given.token, toLogin);
    const gateway = new Gateway({ token: given.token, address: socketAddress(location.origin), resumeAddress: told => nearest(told, web) });
    const router = new Router();
    const context = makeContext({ api, gateway, state, web, go: path => router.go(path) });
    gateway.addEventListener("connection", ({ detail }) => detail.code === BAD_TOKEN && toLogin());
    state.follow(gateway);
    startApps(context);
    new Shell(context, router).mount();
    gateway.connect();
  } catch (error) {
    // The page for those without script is still there, and can be read and answered.
    console.error(error);
    root.classList.remove("has-client");
  }
}

function socketAddress(origin) {
  return `${origin.replace(/^http/, "ws")}/gateway`;
}

/** Where a session is resumed: the address that was told, or the one we are at where that is only its public name. */
function nearest(told, web) {
  if (!told) return socketAddress(location.origin);
  return new URL(told).host === new URL(web).host ? socketAddress(location.origin) : told;
}

begin();
