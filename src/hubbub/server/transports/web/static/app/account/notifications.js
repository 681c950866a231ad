/** User settings: desktop notifications, push notifications and the notification sound. Changes apply immediately. */

import { h, setChildren } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { pushNotificationsField } from "./push_notifications.js";
import { notificationPermission } from "../notifications/desktop.js";
import { playNotificationSound } from "../notifications/sound.js";
import { switchSetting } from "../settings/forms/fields.js";
import { actionButton, settingsSection } from "../settings/forms/layout.js";

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const NOTIFICATIONS_SCREEN = { id: "notifications", label: t("Notifications"), icon: "bell", build };

/** Explanations by the permission of this page to show notifications. */
const PERMISSION_TEXTS = {
  granted: t("This browser shows desktop notifications."),
  denied: t(
    "This browser blocks notifications from this page. Allow them in the site settings of the browser, beside the address.",
  ),
  default: t("Your browser asks you for permission first. You can withdraw it at any time in the browser."),
  unsupported: t("This browser has no desktop notifications, or the page is not served over HTTPS."),
};

function build(view) {
  const { api, state } = view.context;
  const fields = {
    desktop_notifications: switchSetting(t("Desktop notifications"), {
      hint: t("For messages that notify you, while this page is open in the background."),
    }),
    notification_sounds: switchSetting(t("Sound"), { hint: t("A short sound, unless you are reading the channel.") }),
  };
  const permission = h("div", { class: "settings-permission", role: "status" });
  const drawValues = () => {
    for (const [name, field] of Object.entries(fields)) field.write(state.settings[name] ?? true);
    drawPermission();
  };
  const requestPermission = async () => {
    await Notification.requestPermission();
    drawPermission();
  };
  const drawPermission = () => {
    const browserPermission = notificationPermission();
    setChildren(
      permission,
      h("p", { class: "hint" }, PERMISSION_TEXTS[browserPermission]),
      browserPermission === "default" ? actionButton(t("Allow in this browser"), requestPermission) : null,
    );
  };
  for (const [name, field] of Object.entries(fields))
    field.node.addEventListener("change", async () => {
      const json = { [name]: field.read() };
      const isSaved = await runAndReport(async () => {
        state.apply("USER_SETTINGS_UPDATE", await api.request("PATCH", "/users/@me/settings", { json }));
      });
      if (!isSaved) drawValues();
    });
  view.onChange(({ kind }) => kind === "settings" && drawValues());
  drawValues();
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(
      t("In this browser"),
      h("div", { class: "settings-switch" }, fields.desktop_notifications.node, permission),
      pushNotificationsField(view.context),
    ),
    settingsSection(
      t("Sound"),
      fields.notification_sounds.node,
      h("div", { class: "row" }, actionButton(t("Play the sound"), playNotificationSound)),
    ),
    settingsSection(
      t("Guilds and channels"),
      h(
        "p",
        { class: "hint" },
        t(
          "Choose what notifies you, and mute guilds, channels and threads, in their menus: “Mute” and “Notification settings”.",
        ),
      ),
    ),
  );
}
