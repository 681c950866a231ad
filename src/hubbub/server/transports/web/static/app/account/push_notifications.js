/** User settings: the switch for push notifications in this browser, with the reason if it cannot be used. */

import { fetchPushState, pushObstacle, subscribeToPush, unsubscribeFromPush } from "../network/push.js";
import { h, setChildren } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { switchSetting } from "../settings/forms/fields.js";

const OBSTACLE_TEXTS = {
  insecure: t("Push notifications need a page that is served over HTTPS."),
  "home-screen": t("On iPhone and iPad, first add Hubbub to the home screen: open the share menu of Safari."),
  unsupported: t("This browser does not support push notifications, or blocks them in private windows."),
  denied: t(
    "This browser blocks notifications from this page. Allow them in the site settings of the browser, beside the address.",
  ),
  disabled: t("The operator of this server has disabled push notifications."),
};
const ON_TEXT = t("This browser receives push notifications until you log out.");
const DISMISSED_TEXT = t("You have not allowed notifications. Switch push notifications on to be asked again.");
const PUSH_SERVICE_ERROR_TEXT = t(
  "The push service of this browser cannot be reached. Check the connection, or try another browser.",
);
const SERVER_ERROR_TEXT = t("The server could not be reached. Try again.");

/** Return the switch and, below it, its status or the reason why it cannot be used. */
export function pushNotificationsField(context) {
  const field = switchSetting(t("Push notifications"), {
    hint: t(
      "For messages that notify you, also while Hubbub is closed. None arrive while you use Hubbub on any device.",
    ),
  });
  const status = h("div", { class: "settings-permission", role: "status" });
  const show = (isOn, text, { isEnabled = true, isProblem = false } = {}) => {
    field.write(isOn);
    field.node.querySelector("input").disabled = !isEnabled;
    setChildren(status, text ? h("p", { class: isProblem ? "settings-obstacle" : "hint" }, text) : null);
  };
  const refreshPushState = async () => {
    try {
      const { isOn, obstacle } = await fetchPushState(context.api);
      if (obstacle === null) show(isOn, isOn ? ON_TEXT : "");
      else show(false, OBSTACLE_TEXTS[obstacle], { isEnabled: false, isProblem: true });
    } catch {
      show(false, SERVER_ERROR_TEXT, { isEnabled: false, isProblem: true });
    }
  };
  const toggle = async isOn => {
    show(isOn, isOn ? t("Waiting for the browser…") : "", { isEnabled: false });
    try {
      await (isOn ? subscribeToPush(context) : unsubscribeFromPush(context));
    } catch (error) {
      // The browser reports errors of its push service as DOMException.
      show(!isOn, error instanceof DOMException ? PUSH_SERVICE_ERROR_TEXT : SERVER_ERROR_TEXT, { isProblem: true });
      return;
    }
    await refreshPushState();
    if (isOn && !field.read() && pushObstacle() === null) show(false, DISMISSED_TEXT, { isProblem: true });
  };
  field.node.addEventListener("change", () => toggle(field.read()));
  show(false, "", { isEnabled: false });
  refreshPushState();
  return h("div", { class: "settings-switch" }, field.node, status);
}
