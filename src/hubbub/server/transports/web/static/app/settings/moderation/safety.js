/** Guild settings: pauses of invites and direct messages, two-factor authentication of moderators, and the media filter. */

import { ExplicitContentFilter, MfaLevel } from "../../generated/enums.js";
import { INCIDENT_HOURS_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { platformNow } from "../../network/platform_clock.js";
import { h, reconcile } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { timeElement } from "../../ui/times.js";
import { t, tNodes, tn } from "../../ui/translation.js";
import { choiceSetting, labelInSentence } from "../forms/fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, settingsSection, viewOnlyNotice } from "../forms/layout.js";

const HOUR_MS = 3_600_000;

const FILTER_OPTIONS = [
  [ExplicitContentFilter.DISABLED, t("Off")],
  [ExplicitContentFilter.MEMBERS_WITHOUT_ROLES, t("Media of members without a role")],
  [ExplicitContentFilter.ALL_MEMBERS, t("Media of all members")],
];

/** Actions that can be paused; `name` is the property in `incidents_data` and in the request. */
const PAUSES = [
  {
    name: "invites_disabled_until",
    label: t("Invites"),
    pausedText: time => tNodes("New members cannot join until {time}", { time }),
    runningText: t("New members can join with an invite."),
  },
  {
    name: "dms_disabled_until",
    label: t("Direct messages"),
    pausedText: time => tNodes("Members who are not friends cannot write to each other until {time}", { time }),
    runningText: t("Members can write to each other."),
  },
];

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const SAFETY_SCREEN = { id: "safety", label: t("Safety"), icon: "lock", build };

function build(view) {
  const { context, guildId } = view;
  const notice = h("div", { class: "settings-access" });
  const pauses = h("ul", { class: "settings-list", "aria-label": t("Pauses") });
  const twoFactor = h("ul", { class: "settings-list", "aria-label": t("Two-factor authentication") });
  const filter = choiceSetting(t("Check for explicit content"), FILTER_OPTIONS);
  const form = new SettingsForm({ explicit_content_filter: filter }, view.guild, {
    save: changes => context.api.request("PATCH", `/guilds/${guildId}`, { json: changes }),
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const drawSections = () => {
    const denialReason = view.access.findDenialReason(Permissions.MANAGE_GUILD);
    notice.replaceChildren(...(denialReason === null ? [] : [viewOnlyNotice(denialReason)]));
    filter.setDisabled(denialReason !== null);
    reconcile(
      pauses,
      PAUSES.map(pause => pauseEntry(view, pause, denialReason)),
    );
    reconcile(twoFactor, [twoFactorEntry(view)]);
  };
  view.onChange(({ kind }) => {
    if (kind === "guilds") form.showStored(view.guild);
    if (kind !== "channels") drawSections();
  });
  drawSections();
  return [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection(t("Pause during a raid"), pauses),
      settingsSection(t("Moderators"), twoFactor),
      settingsSection(t("Media"), filter.node),
    ),
  ];
}

function pauseEntry(view, { name, label, pausedText, runningText }, denialReason) {
  const endMs = Date.parse(view.guild.incidents_data?.[name] ?? ""),
    isPaused = endMs > platformNow();
  const send = async value => {
    const path = `/guilds/${view.guildId}/incident-actions`;
    const incidents = await view.context.api.request("PUT", path, { json: { [name]: value } });
    view.context.state.apply("GUILD_UPDATE", { id: view.guildId, incidents_data: incidents });
  };
  const pause = () =>
    openActionDialog({
      title: t("Pause: {label}", { label: labelInSentence(label) }),
      label: t("Pause"),
      fields: { hours: choiceSetting(t("For"), hourOptions()) },
      run: ({ hours }) => send(new Date(platformNow() + hours * HOUR_MS).toISOString()),
    });
  const resume = () => runAndReport(() => send(null));
  const button = isPaused
    ? actionButton(t("Resume"), resume, { denialReason, name: t("Resume: {label}", { label }) })
    : actionButton(t("Pause"), pause, { denialReason, isDangerous: true, name: t("Pause: {label}", { label }) });
  button.dataset.focus = "pause";
  return {
    key: name,
    version: `${isPaused ? endMs : ""} ${denialReason}`,
    build: () =>
      listEntry({
        title: label,
        details: [isPaused ? h("span", null, ...pausedText(timeElement(endMs, "f"))) : runningText],
        actions: [button],
      }),
  };
}

/** Return the durations of a pause as pairs of hours and label. */
function hourOptions() {
  return [1, 6, 12, INCIDENT_HOURS_MAX].map(hours => [hours, tn("{count} hour", "{count} hours", hours)]);
}

/** Return why the user cannot require two-factor authentication, or null. */
function twoFactorDenialReason({ access, context }) {
  if (!access.isOwner) return t("Only the owner can change this.");
  return context.me.mfa_enabled ? null : t("Turn on two-factor authentication for your own account first.");
}

function twoFactorEntry(view) {
  const isRequired = view.guild.mfa_level === MfaLevel.ELEVATED,
    denialReason = twoFactorDenialReason(view);
  const toggle = () =>
    runAndReport(async () => {
      const level = isRequired ? MfaLevel.NONE : MfaLevel.ELEVATED;
      await view.context.api.request("POST", `/guilds/${view.guildId}/mfa`, { json: { level } });
      view.context.state.apply("GUILD_UPDATE", { id: view.guildId, mfa_level: level });
      showNotice(
        isRequired ? t("Moderators no longer need a second factor.") : t("Moderators need a second factor."),
        "done",
      );
    });
  const button = isRequired
    ? actionButton(t("Stop requiring"), toggle, { denialReason, name: t("Stop requiring two-factor authentication") })
    : actionButton(t("Require"), toggle, { denialReason, name: t("Require two-factor authentication") });
  button.dataset.focus = "two-factor";
  return {
    key: "two-factor",
    version: `${isRequired} ${denialReason}`,
    build: () =>
      listEntry({
        title: [t("Two-factor authentication"), isRequired ? h("span", { class: "tag" }, t("Required")) : null],
        details: [t("Moderators without it cannot kick, ban or change settings."), denialReason],
        actions: [button],
      }),
  };
}
