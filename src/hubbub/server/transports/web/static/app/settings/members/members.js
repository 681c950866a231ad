/** Moderation of members, in the guild settings and the context menu: nickname, roles, timeout, kick, ban, and pruning. */

import { NICK_MAX, SEARCH_QUERY_MAX, TIMEOUT_SECONDS_MAX } from "../../generated/limits.js";
import { Permissions } from "../../network/enums.js";
import { openDialog } from "../../ui/dialogs.js";
import { h, reconcile } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { timeElement } from "../../ui/times.js";
import { t, tNodes } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { platformNow } from "../../network/platform_clock.js";
import { choiceSetting, reasonSetting, switchSetting, textSetting } from "../forms/fields.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { GuildAccess } from "../permissions/guild_access.js";
import { actionButton, listEntry } from "../forms/layout.js";
import { openPruneDialog, pruneDenialReason } from "./prune.js";

const PAGE_SIZE = 50;
const SEARCH_RESULTS_MAX = 100;
const SEARCH_DELAY_MS = 250;

/** Durations of a timeout in seconds, with their labels. */
const TIMEOUT_OPTIONS = [
  [60, t("1 minute")],
  [300, t("5 minutes")],
  [3_600, t("1 hour")],
  [86_400, t("1 day")],
  [604_800, t("1 week")],
  [TIMEOUT_SECONDS_MAX, t("4 weeks")],
];

/** Maximum age in seconds of the messages that a ban deletes, with labels. */
const DELETED_MESSAGES_OPTIONS = [
  [0, t("Keep their messages")],
  [3_600, t("Messages of the last hour")],
  [86_400, t("Messages of the last day")],
  [604_800, t("Messages of the last 7 days")],
];

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const MEMBERS_SCREEN = { id: "members", label: t("Members"), icon: "people", build };

function build(view) {
  const { context, guildId } = view;
  /** Listed members by user ID. */
  const members = new Map();
  let query = "",
    requestCount = 0,
    timer;
  const list = h("ul", { class: "settings-list", "aria-label": t("Members") });
  const status = h("p", { class: "muted", role: "status" });
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    t("Show more"),
  );
  const drawMembers = () =>
    reconcile(
      list,
      [...members.values()].map(member => memberEntry(view, member)),
    );
  const fetchPage = () =>
    runAndReport(async () => {
      const requestNumber = (requestCount += 1);
      const lastId = [...members.keys()].at(-1);
      const loadedMembers = await (query
        ? context.api.request("GET", `/guilds/${guildId}/members/search`, {
            query: { query, limit: SEARCH_RESULTS_MAX },
          })
        : context.api.request("GET", `/guilds/${guildId}/members`, { query: { limit: PAGE_SIZE, after: lastId } }));
      // A newer search replaced this one.
      if (requestNumber !== requestCount) return;
      if (query) members.clear();
      for (const member of loadedMembers) members.set(member.user.id, member);
      moreButton.hidden = Boolean(query) || loadedMembers.length < PAGE_SIZE;
      status.textContent = members.size ? "" : t("No members found.");
      drawMembers();
    });
  const search = textSetting(t("Search members"), { type: "search", maxlength: SEARCH_QUERY_MAX });
  search.node.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      query = search.read().trim();
      members.clear();
      fetchPage();
    }, SEARCH_DELAY_MS);
  });
  view.onChange(({ kind, id }) => {
    const member = context.state.member(guildId, id);
    if (kind === "members" && members.has(id)) {
      if (member === undefined) members.delete(id);
      else members.set(id, member);
    }
    drawPrune();
    drawMembers();
  });
  fetchPage();
  const pruneButton = actionButton(t("Remove inactive members"), () => openPruneDialog(view), { isDangerous: true });
  const pruneHint = h("p", { class: "hint settings-access" });
  const drawPrune = () => {
    const denialReason = pruneDenialReason(view.access);
    pruneButton.disabled = denialReason !== null;
    pruneHint.textContent =
      denialReason === null ? "" : t("You cannot remove inactive members. {reason}", { reason: denialReason });
  };
  drawPrune();
  return [h("div", { class: "settings-tools" }, search.node, pruneButton), pruneHint, status, list, moreButton];
}

function nameOf(member) {
  return member.nick || member.user.global_name || member.user.username;
}

/** Return the end of a member's timeout as Unix milliseconds, or null. */
function timeoutEndMs(member) {
  const endMs = Date.parse(member.communication_disabled_until ?? "");
  return endMs > platformNow() ? endMs : null;
}

function memberEntry(view, member) {
  const { access, guild } = view;
  const roles = access.roles.filter(role => member.roles.includes(role.id)),
    name = nameOf(member),
    endMs = timeoutEndMs(member),
    isOwner = member.user.id === guild.owner_id,
    roleTexts = roles.map(role => `${role.id} ${role.name}`);
  return {
    key: member.user.id,
    version: `${name} ${member.user.avatar} ${roleTexts} ${endMs} ${isOwner} ${access.permissions}`,
    build: () =>
      listEntry({
        image: userAvatar(member.user, name),
        title: [name, member.user.bot ? h("span", { class: "tag" }, t("App")) : null],
        details: [
          [`@${member.user.username}`, isOwner ? t("Owner") : null].filter(Boolean).join(" · "),
          endMs === null
            ? null
            : h("span", null, ...tNodes("Timed out until {time}", { time: timeElement(endMs, "f") })),
          roles.length ? roles.map(role => role.name).join(", ") : null,
        ],
        actions: [actionButton(t("Manage"), () => openMember(view, member), { name: t("Manage {name}", { name }) })],
      }),
  };
}

/** Open the dialog of one member: nickname, roles and moderation. */
function openMember(view, member) {
  const { context, access } = view;
  const name = nameOf(member),
    path = memberPath(view, member);
  openDialog(name, close => {
    const renameDenialReason = access.findRenameDenialReason(member);
    const nick = textSetting(t("Nickname"), {
      hint: renameDenialReason ?? undefined,
      maxlength: NICK_MAX,
      placeholder: member.user.global_name ?? member.user.username,
      isNullable: true,
    });
    const switches = access.roles.map(role => {
      const denialReason = role.managed ? t("An app manages this role.") : access.findRoleDenialReason(role);
      return { role, denialReason, field: switchSetting(role.name, { hint: denialReason ?? undefined }) };
    });
    const fields = { nick, ...Object.fromEntries(switches.map(({ role, field }) => [role.id, field])) };
    const values = {
      nick: member.nick ?? null,
      ...Object.fromEntries(switches.map(({ role }) => [role.id, member.roles.includes(role.id)])),
    };
    const saveButton = h("button", { type: "submit", class: "button", disabled: true }, t("Save"));
    const drawSave = () => {
      saveButton.disabled = !form?.isDirty;
    };
    // The constructor of the form already calls `drawSave`.
    let form = null;
    form = new SettingsForm(fields, values, {
      save: changes => saveMember(context, path, changes),
      onInput: drawSave,
    });
    form.disable([
      ...(renameDenialReason === null ? [] : ["nick"]),
      ...switches.filter(({ denialReason }) => denialReason !== null).map(({ role }) => role.id),
    ]);
    const submit = async event => {
      event.preventDefault();
      if (!(await form.submit())) return;
      close();
      showNotice(t("Changes saved."), "done");
    };
    return h(
      "form",
      { class: "stack", onsubmit: submit },
      nick.node,
      h(
        "fieldset",
        null,
        h("legend", null, t("Roles")),
        switches.length
          ? switches.map(({ field }) => field.node)
          : h("p", { class: "muted small" }, t("This guild has no roles yet.")),
      ),
      h("div", { class: "row end" }, saveButton),
      h("hr"),
      moderationControls(view, member, close),
    );
  });
}

/** Send the changed nickname, and each changed role in its own request, so that other roles of the member stay. */
async function saveMember(context, path, { nick, ...roles }) {
  if (nick !== undefined) await context.api.request("PATCH", path, { json: { nick } });
  for (const [roleId, isAssigned] of Object.entries(roles))
    await context.api.request(isAssigned ? "PUT" : "DELETE", `${path}/roles/${roleId}`);
}

/** Return the buttons that time out, kick and ban a member, with the reasons why some are disabled. */
function moderationControls(view, member, close) {
  const { access } = view;
  const isTimedOut = timeoutEndMs(member) !== null;
  const actions = [
    [
      isTimedOut ? t("End timeout") : t("Time out"),
      isTimedOut ? endTimeout : timeOut,
      access.findTimeoutDenialReason(member),
    ],
    [t("Kick"), kick, access.findMemberDenialReason(Permissions.KICK_MEMBERS, member)],
    [t("Ban"), ban, access.findMemberDenialReason(Permissions.BAN_MEMBERS, member)],
  ];
  const runAction = async action => {
    if (await action(view, member)) close();
  };
  const reasons = [...new Set(actions.map(([, , denialReason]) => denialReason).filter(Boolean))].map(denialReason => {
    const labels = actions.filter(([, , other]) => other === denialReason).map(([label]) => label);
    return h("p", { class: "hint" }, `${labels.join(", ")}: ${denialReason}`);
  });
  return h(
    "div",
    { class: "stack" },
    h(
      "div",
      { class: "row" },
      actions.map(([label, action, denialReason]) =>
        actionButton(label, () => runAction(action), { isDangerous: true, denialReason }),
      ),
    ),
    reasons,
  );
}

const memberPath = (view, member) => `/guilds/${view.guildId}/members/${member.user.id}`;

/** Await the dialog of an action, and show a notice if the action succeeded. */
async function reportDone(dialog, text) {
  const isDone = await dialog;
  if (isDone) showNotice(text, "done");
  return isDone;
}

function timeOut(view, member) {
  const name = nameOf(member);
  return reportDone(
    openActionDialog({
      title: t("Time out {name}?", { name }),
      text: t("They can read, but not write, react or speak until the timeout ends."),
      label: t("Time out"),
      fields: { seconds: choiceSetting(t("For"), TIMEOUT_OPTIONS), reason: reasonSetting() },
      run: ({ seconds, reason }) =>
        view.context.api.request("PATCH", memberPath(view, member), {
          json: { communication_disabled_until: new Date(platformNow() + seconds * 1000).toISOString() },
          reason: reason ?? undefined,
        }),
    }),
    t("{name} is timed out.", { name }),
  );
}

function endTimeout(view, member) {
  return runAndReport(() =>
    view.context.api.request("PATCH", memberPath(view, member), { json: { communication_disabled_until: null } }),
  );
}

function kick(view, member) {
  const name = nameOf(member);
  return reportDone(
    openActionDialog({
      title: t("Kick {name}?", { name }),
      text: t("They can join again with an invite."),
      label: t("Kick"),
      fields: { reason: reasonSetting() },
      run: ({ reason }) =>
        view.context.api.request("DELETE", memberPath(view, member), { reason: reason ?? undefined }),
    }),
    t("{name} was kicked.", { name }),
  );
}

function ban(view, member) {
  const name = nameOf(member);
  return reportDone(
    openActionDialog({
      title: t("Ban {name}?", { name }),
      text: t("They are removed and cannot join again until you lift the ban."),
      label: t("Ban"),
      fields: { seconds: choiceSetting(t("Delete messages"), DELETED_MESSAGES_OPTIONS), reason: reasonSetting() },
      run: ({ seconds, reason }) =>
        view.context.api.request("PUT", `/guilds/${view.guildId}/bans/${member.user.id}`, {
          json: { delete_message_seconds: seconds },
          reason: reason ?? undefined,
        }),
    }),
    t("{name} was banned.", { name }),
  );
}

/** Return the items of a member's context menu: nickname and roles, timeout, kick and ban; false for each that is not allowed. */
export function memberModerationItems(context, guildId, userId) {
  const member = context.state.member(guildId, userId);
  if (member === undefined) return [];
  const access = new GuildAccess(context, guildId);
  const view = { context, guildId, access };
  const isTimedOut = timeoutEndMs(member) !== null;
  const canEdit = access.findRenameDenialReason(member) === null || access.hasPermissions(Permissions.MANAGE_ROLES);
  return [
    canEdit && { label: t("Nickname and roles"), icon: "edit", onClick: () => openMember(view, member) },
    access.findTimeoutDenialReason(member) === null && {
      label: isTimedOut ? t("End timeout") : t("Time out"),
      icon: "history",
      isDangerous: !isTimedOut,
      onClick: () => (isTimedOut ? endTimeout(view, member) : timeOut(view, member)),
    },
    access.findMemberDenialReason(Permissions.KICK_MEMBERS, member) === null && {
      label: t("Kick"),
      icon: "leave",
      isDangerous: true,
      onClick: () => kick(view, member),
    },
    access.findMemberDenialReason(Permissions.BAN_MEMBERS, member) === null && {
      label: t("Ban"),
      icon: "block",
      isDangerous: true,
      onClick: () => ban(view, member),
    },
  ];
}
