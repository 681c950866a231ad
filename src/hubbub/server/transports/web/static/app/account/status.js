/** User settings: the online status, and the custom status with the time at which it is cleared. */

import { CUSTOM_STATUS_MAX } from "../generated/limits.js";
import { platformNow } from "../network/platform_clock.js";
import { h } from "../ui/dom.js";
import { formatTime } from "../ui/times.js";
import { t } from "../ui/translation.js";
import { emojiSetting } from "../settings/forms/emoji_field.js";
import { choiceSetting, textSetting } from "../settings/forms/fields.js";
import { SettingsForm } from "../settings/forms/form.js";
import { settingsSection } from "../settings/forms/layout.js";

const STATUS_OPTIONS = [
  ["online", t("Online")],
  ["idle", t("Idle")],
  ["dnd", t("Do not disturb")],
  ["invisible", t("Invisible: others see you as offline")],
];

const MINUTE_MS = 60_000;
const TODAY = "today";
/** Times at which a custom status is cleared: null for never, minutes from now, or `TODAY`. */
const END_OPTIONS = [
  [null, t("Do not clear")],
  [30, t("In 30 minutes")],
  [60, t("In 1 hour")],
  [240, t("In 4 hours")],
  [TODAY, t("At the end of today")],
];

/** @type {import("../settings/forms/settings_dialog.js").SettingsScreen} */
export const STATUS_SCREEN = { id: "status", label: t("Status"), icon: "smile", build };

function build(view) {
  const { context } = view;
  const fields = {
    status: choiceSetting(t("Status"), STATUS_OPTIONS, { hint: t("Stays until you change it, on all your devices.") }),
    text: textSetting(t("Text"), { maxlength: CUSTOM_STATUS_MAX, placeholder: t("What are you doing?") }),
    emoji: emojiSetting(view, t("Emoji")),
    end: choiceSetting(t("Clear"), END_OPTIONS, { unknown: end => t("On {time}", { time: formatTime(end) }) }),
  };
  const form = new SettingsForm(fields, formValues(context.state.settings), {
    save: async ({ status, ...custom }) => {
      const json = status === undefined ? {} : { status };
      if (Object.keys(custom).length) json.custom_status = readCustomStatus(view, fields);
      const request = context.api.request("PATCH", "/users/@me/settings", { json });
      const settings = await request.catch(error => Promise.reject(renameErrors(error)));
      context.state.apply("USER_SETTINGS_UPDATE", settings);
      return formValues(settings);
    },
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  view.onChange(({ kind }) => kind === "settings" && form.showStored(formValues(context.state.settings)));
  return h(
    "div",
    { class: "settings-form" },
    settingsSection(t("Online status"), fields.status.node),
    settingsSection(
      t("Custom status"),
      h("p", { class: "hint" }, t("People see it below your name.")),
      fields.emoji.node,
      fields.text.node,
      fields.end.node,
    ),
  );
}

/** Return the status and the custom status of user settings as values of the form; a missing status is `online`. */
function formValues({ status, custom_status: custom }) {
  return {
    status: status ?? "online",
    text: custom?.text ?? "",
    emoji: custom ?? null,
    end: custom?.expires_at ?? null,
  };
}

/** Return the custom status in the form as the API takes it; null if it has neither text nor emoji. */
function readCustomStatus(view, { text, emoji, end }) {
  const chosenEmoji = emoji.read();
  const name = chosenEmoji?.emoji_id
    ? view.guild.emojis.find(({ id }) => id === chosenEmoji.emoji_id)?.name
    : chosenEmoji?.emoji_name;
  if (!text.read().trim() && !name) return null;
  return {
    text: text.read().trim() || null,
    emoji_id: name ? (chosenEmoji.emoji_id ?? null) : null,
    emoji_name: name ?? null,
    expires_at: endTime(end.read()),
  };
}

/** Return the timestamp of a chosen end; stored timestamps and null stay unchanged. */
function endTime(end) {
  if (end === TODAY) return new Date(new Date().setHours(24, 0, 0, 0)).toISOString();
  return typeof end === "number" ? new Date(platformNow() + end * MINUTE_MS).toISOString() : end;
}

/** Move the errors of the custom status to the fields of the form, and return the error. */
function renameErrors(error) {
  const { text, expires_at: end, emoji_name: emoji } = error.errors?.custom_status ?? {};
  error.errors = Object.fromEntries(
    Object.entries({ ...error.errors, text, end, emoji }).filter(([, value]) => value !== undefined),
  );
  return error;
}
