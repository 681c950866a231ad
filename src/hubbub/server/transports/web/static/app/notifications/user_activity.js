/** Reports whether the user is at this page. While the user is, the server sends no push notifications (decisions/0105). */

import { updatePresence } from "../network/own_presence.js";

/** Time without focus after which the user counts as away, so that a short switch to another window has no effect. */
const BLUR_DELAY_MS = 10_000;
/** Time without input after which the user counts as away. */
const IDLE_MS = 5 * 60_000;
const INPUT_EVENTS = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"];

/** Report changes, and the state of the user at the beginning of each connection. */
export function startUserActivity(gateway) {
  let lastInputAt = Date.now();
  let isAway = null;
  let timer;
  const reportActivity = () => {
    clearTimeout(timer);
    const wasAway = isAway;
    const idleMs = Date.now() - lastInputAt;
    isAway = document.hidden || !document.hasFocus() || idleMs >= IDLE_MS;
    if (isAway !== wasAway && gateway.state === "open") updatePresence(gateway, { afk: isAway });
    if (!isAway) timer = setTimeout(reportActivity, IDLE_MS - idleMs);
  };
  const onInput = () => {
    lastInputAt = Date.now();
    if (isAway) reportActivity();
  };
  gateway.addEventListener("connection", ({ detail }) => {
    if (detail.state !== "open") return;
    isAway = null;
    reportActivity();
  });
  for (const name of INPUT_EVENTS) window.addEventListener(name, onInput, { passive: true });
  window.addEventListener("focus", onInput);
  window.addEventListener("blur", () => {
    clearTimeout(timer);
    timer = setTimeout(reportActivity, BLUR_DELAY_MS);
  });
  // A phone stops the page soon after it is hidden.
  document.addEventListener("visibilitychange", () => (document.hidden ? reportActivity() : onInput()));
}
