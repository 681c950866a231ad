/** Guild settings: pauses of invites and direct messages, two-factor authentication of moderators, and the media filter. */

import { ExplicitContentFilter, MfaLevel } from "../generated/enums.js";
import { INCIDENT_HOURS_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { h, reconcile } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { choiceSetting } from "./fields.js";
import { SettingsForm, openActionDialog } from "./form.js";
import { actionButton, listEntry, settingsSection, viewOnlyNotice } from "./layout.js";

const HOUR_MS = 3_600_000;

const FILTER_OPTIONS = [
  [ExplicitContentFilter.DISABLED, "Off"],
  [ExplicitContentFilter.MEMBERS_WITHOUT_ROLES, "Media of members without a role"],
  [ExplicitContentFilter.ALL_MEMBERS, "Media of all members"],
];

/** Actions that can be paused; `name` is the property in `incidents_data` and in the request. */
const PAUSES = [
  {
    name: "invites_disabled_until",
    label: "Invites",
    pausedText: "New members cannot join until",
    runningText: "New members can join with an invite.",
  },
  {
    name: "dms_disabled_until",
    label: "Direct messages",
    pausedText: "Members who are not friends cannot write to each other until",
    runningText: "Members can write to each other.",
  },
];

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const SAFETY_SCREEN = { id: "safety", label: "Safety", icon: "lock", build };

function build(view) {
  const { context, guildId } = view;
  const notice = h("div", { class: "settings-access" });
  const pauses = h("ul", { class: "settings-list", "aria-label": "Pauses" });
  const twoFactor = h("ul", { class: "settings-list", "aria-label": "Two-factor authentication" });
  const filter = choiceSetting("Check for explicit content", FILTER_OPTIONS);
  const form = new SettingsForm({ explicit_content_filter: filter }, view.guild, {
    save: changes => context.api.request("PATCH", `/guilds/${guildId}`, { json: changes }),
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const draw = () => {
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
    if (kind === "guilds") form.load(view.guild);
    if (kind !== "channels") draw();
  });
  draw();
  return [
    notice,
    h(
      "div",
      { class: "settings-form" },
      settingsSection("Pause during a raid", pauses),
      settingsSection("Moderators", twoFactor),
      settingsSection("Media", filter.node),
    ),
  ];
}

function pauseEntry(view, { name, label, pausedText, runningText }, denialReason) {
  const endMs = Date.parse(view.guild.incidents_data?.[name] ?? ""),
    isPaused = endMs > Date.now();
  const send = async value => {
    const path = `/guilds/${view.guildId}/incident-actions`;
    const incidents = await view.context.api.request("PUT", path, { json: { [name]: value } });
    view.context.state.apply("GUILD_UPDATE", { id: view.guildId, incidents_data: incidents });
  };
  const pause = () =>
    openActionDialog({
      title: `Pause: ${label.toLowerCase()}`,
      label: "Pause",
      fields: { hours: choiceSetting("For", hourOptions()) },
      run: ({ hours }) => send(new Date(Date.now() + hours * HOUR_MS).toISOString()),
    });
  const resume = () => runAndReport(() => send(null));
  const button = isPaused
    ? actionButton("Resume", resume, { denialReason, name: `Resume: ${label}` })
    : actionButton("Pause", pause, { denialReason, danger: true, name: `Pause: ${label}` });
  button.dataset.focus = "pause";
  return {
    key: name,
    version: `${isPaused ? endMs : ""} ${denialReason}`,
    build: () =>
      listEntry({
        title: label,
        details: [isPaused ? h("span", null, `${pausedText} `, timeElement(endMs, "f")) : runningText],
        actions: [button],
      }),
  };
}

/** Return the lengths of a pause as pairs of hours and label. */
function hourOptions() {
  return [1, 6, 12, INCIDENT_HOURS_MAX].map(hours => [hours, hours === 1 ? "1 hour" : `${hours} hours`]);
}

/** Return why the user cannot require two-factor authentication, or null. */
function twoFactorDenialReason({ access, context }) {
  if (!access.isOwner) return "Only the owner can change this.";
  return context.me.mfa_enabled ? null : "Turn on two-factor authentication for your own account first.";
}

function twoFactorEntry(view) {
  const isRequired = view.guild.mfa_level === MfaLevel.ELEVATED,
    denialReason = twoFactorDenialReason(view);
  const toggle = () =>
    runAndReport(async () => {
      const level = isRequired ? MfaLevel.NONE : MfaLevel.ELEVATED;
      await view.context.api.request("POST", `/guilds/${view.guildId}/mfa`, { json: { level } });
      view.context.state.apply("GUILD_UPDATE", { id: view.guildId, mfa_level: level });
      showNotice(isRequired ? "Moderators need no second factor." : "Moderators need a second factor.", "done");
    });
  const button = actionButton(isRequired ? "Stop requiring" : "Require", toggle, {
    denialReason,
    name: `${isRequired ? "Stop requiring" : "Require"} two-factor authentication`,
  });
  button.dataset.focus = "two-factor";
  return {
    key: "two-factor",
    version: `${isRequired} ${denialReason}`,
    build: () =>
      listEntry({
        title: ["Two-factor authentication", isRequired ? h("span", { class: "tag" }, "Required") : null],
        details: ["Moderators without it cannot kick, ban or change settings.", denialReason],
        actions: [button],
      }),
  };
}
