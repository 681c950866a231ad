/** The bar that reports a lost connection. */

import { h } from "./ui/dom.js";
import { t } from "./ui/translation.js";

/** Delay before a lost connection is shown; a socket that reconnects immediately needs no message. */
const DELAY_MS = 300;

/** Return the bar. It appears when the connection is lost or the server closes it, and disappears after a reconnect. */
export function createConnectionBar(gateway) {
  const bar = h("p", { class: "connection", role: "status", hidden: true });
  let timer;
  const showText = text => {
    bar.textContent = text;
    bar.hidden = false;
  };
  gateway.addEventListener("connection", ({ detail: { state, code } }) => {
    clearTimeout(timer);
    if (state === "ended" && code !== 1000)
      showText(t("The server closed the connection ({code}). Reload the page to try again.", { code }));
    else if (state === "lost") timer = setTimeout(() => showText(t("Connection lost. Reconnecting…")), DELAY_MS);
    else if (state !== "ended") bar.hidden = true;
  });
  return bar;
}
