/** Guild settings: members, with nickname, roles, timeout, kick, ban and the removal of inactive members. */

import { NICK_MAX, SEARCH_QUERY_MAX, TIMEOUT_SECONDS_MAX } from "../generated/limits.js";
import { Permissions } from "../network/enums.js";
import { openDialog } from "../ui/dialogs.js";
import { h, reconcile } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { choiceSetting, reasonSetting, switchSetting, textSetting } from "./fields.js";
import { SettingsForm, openActionDialog } from "./form.js";
import { GuildSettingsAccess } from "./guild_access.js";
import { actionButton, listEntry } from "./layout.js";
import { openPruneDialog, pruneDenialReason } from "./prune.js";

const PAGE_SIZE = 50;
const SEARCH_RESULTS_MAX = 100;
const SEARCH_DELAY_MS = 250;

/** Lengths of a timeout in seconds. */
const TIMEOUT_OPTIONS = [
  [60, "1 minute"],
  [300, "5 minutes"],
  [3_600, "1 hour"],
  [86_400, "1 day"],
  [604_800, "1 week"],
  [TIMEOUT_SECONDS_MAX, "4 weeks"],
];

/** Age in seconds of the messages that a ban deletes. */
const DELETED_MESSAGES_OPTIONS = [
  [0, "Keep their messages"],
  [3_600, "Messages of the last hour"],
  [86_400, "Messages of the last day"],
  [604_800, "Messages of the last 7 days"],
];

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const MEMBERS_SCREEN = { id: "members", label: "Members", icon: "people", build };

function build(view) {
  const { context, guildId } = view;
  /** Listed members by user ID. */
  const members = new Map();
  let query = "",
    requestCount = 0,
    timer;
  const list = h("ul", { class: "settings-list", "aria-label": "Members" });
  const status = h("p", { class: "muted", role: "status" });
  const moreButton = h(
    "button",
    { type: "button", class: "button small quiet settings-more", hidden: true, onclick: () => fetchPage() },
    "Show more",
  );
  const draw = () =>
    reconcile(
      list,
      [...members.values()].map(member => memberEntry(view, member)),
    );
  const fetchPage = () =>
    runAndReport(async () => {
      const requestNumber = (requestCount += 1);
      const after = [...members.keys()].at(-1);
      const found = await (query
        ? context.api.request("GET", `/guilds/${guildId}/members/search`, {
            query: { query, limit: SEARCH_RESULTS_MAX },
          })
        : context.api.request("GET", `/guilds/${guildId}/members`, { query: { limit: PAGE_SIZE, after } }));
      // A newer search replaced this one.
      if (requestNumber !== requestCount) return;
      if (query) members.clear();
      for (const member of found) members.set(member.user.id, member);
      moreButton.hidden = Boolean(query) || found.length < PAGE_SIZE;
      status.textContent = members.size ? "" : "No members found.";
      draw();
    });
  const search = textSetting("Search members", { type: "search", maxlength: SEARCH_QUERY_MAX });
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
    draw();
  });
  fetchPage();
  const prune = actionButton("Remove inactive members", () => openPruneDialog(view), { danger: true });
  const reason = h("p", { class: "hint settings-access" });
  const drawPrune = () => {
    const denialReason = pruneDenialReason(view.access);
    prune.disabled = denialReason !== null;
    reason.textContent = denialReason === null ? "" : `You cannot remove inactive members. ${denialReason}`;
  };
  drawPrune();
  return [h("div", { class: "settings-tools" }, search.node, prune), reason, status, list, moreButton];
}

function nameOf(member) {
  return member.nick || member.user.global_name || member.user.username;
}

/** Return the end of a member's timeout as Unix milliseconds, or null. */
function timeoutEndMs(member) {
  const endMs = Date.parse(member.communication_disabled_until ?? "");
  return endMs > Date.now() ? endMs : null;
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
        mark: userAvatar(member.user, name),
        title: [name, member.user.bot ? h("span", { class: "tag" }, "App") : null],
        details: [
          `@${member.user.username}${isOwner ? " · Owner" : ""}`,
          endMs === null ? null : h("span", null, "Timed out until ", timeElement(endMs, "f")),
          roles.length ? roles.map(role => role.name).join(", ") : null,
        ],
        actions: [actionButton("Manage", () => openMember(view, member), { name: `Manage ${name}` })],
      }),
  };
}

/** Open the dialog of one member: nickname, roles and moderation. */
function openMember(view, member) {
  const { context, guildId, access } = view;
  const name = nameOf(member),
    path = `/guilds/${guildId}/members/${member.user.id}`;
  openDialog(name, close => {
    const renameDenialReason = access.renameDenialReason(member);
    const nick = textSetting("Nickname", {
      hint: renameDenialReason ?? undefined,
      maxlength: NICK_MAX,
      placeholder: member.user.global_name ?? member.user.username,
      isNullable: true,
    });
    const switches = access.roles.map(role => {
      const denialReason = role.managed ? "An app manages this role." : access.roleDenialReason(role);
      return { role, denialReason, field: switchSetting(role.name, { hint: denialReason ?? undefined }) };
    });
    const fields = { nick, ...Object.fromEntries(switches.map(({ role, field }) => [role.id, field])) };
    const values = {
      nick: member.nick ?? null,
      ...Object.fromEntries(switches.map(({ role }) => [role.id, member.roles.includes(role.id)])),
    };
    const saveButton = h("button", { type: "submit", class: "button", disabled: true }, "Save");
    const drawSave = () => {
      saveButton.disabled = !form?.isDirty;
    };
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
      showNotice("Changes saved.", "done");
    };
    return h(
      "form",
      { class: "stack", onsubmit: submit },
      nick.node,
      h(
        "fieldset",
        null,
        h("legend", null, "Roles"),
        switches.length
          ? switches.map(({ field }) => field.node)
          : h("p", { class: "muted small" }, "This guild has no roles yet."),
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
    [isTimedOut ? "End timeout" : "Time out", isTimedOut ? endTimeout : timeOut, access.timeoutDenialReason(member)],
    ["Kick", kick, access.memberDenialReason(Permissions.KICK_MEMBERS, member)],
    ["Ban", ban, access.memberDenialReason(Permissions.BAN_MEMBERS, member)],
  ];
  const run = async action => {
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
        actionButton(label, () => run(action), { danger: true, denialReason }),
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
      title: `Time out ${name}?`,
      text: "They can read, but not write, react or speak until the timeout ends.",
      label: "Time out",
      fields: { seconds: choiceSetting("For", TIMEOUT_OPTIONS), reason: reasonSetting() },
      run: ({ seconds, reason }) =>
        view.context.api.request("PATCH", memberPath(view, member), {
          json: { communication_disabled_until: new Date(Date.now() + seconds * 1000).toISOString() },
          reason: reason ?? undefined,
        }),
    }),
    `${name} is timed out.`,
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
      title: `Kick ${name}?`,
      text: "They can join again with an invite.",
      label: "Kick",
      fields: { reason: reasonSetting() },
      run: ({ reason }) =>
        view.context.api.request("DELETE", memberPath(view, member), { reason: reason ?? undefined }),
    }),
    `${name} was kicked.`,
  );
}

function ban(view, member) {
  const name = nameOf(member);
  return reportDone(
    openActionDialog({
      title: `Ban ${name}?`,
      text: "They are removed and cannot join again until you lift the ban.",
      label: "Ban",
      fields: { seconds: choiceSetting("Delete messages", DELETED_MESSAGES_OPTIONS), reason: reasonSetting() },
      run: ({ seconds, reason }) =>
        view.context.api.request("PUT", `/guilds/${view.guildId}/bans/${member.user.id}`, {
          json: { delete_message_seconds: seconds },
          reason: reason ?? undefined,
        }),
    }),
    `${name} was banned.`,
  );
}

/** Return the items of a member's context menu that the user may use: nickname and roles, timeout, kick and ban. */
export function memberModerationItems(context, guildId, userId) {
  const member = context.state.member(guildId, userId);
  if (member === undefined) return [];
  const access = new GuildSettingsAccess(context, guildId);
  const view = { context, guildId, access };
  const isTimedOut = timeoutEndMs(member) !== null;
  const canEdit = access.renameDenialReason(member) === null || access.has(Permissions.MANAGE_ROLES);
  return [
    canEdit && { label: "Nickname and roles", icon: "edit", onClick: () => openMember(view, member) },
    access.timeoutDenialReason(member) === null && {
      label: isTimedOut ? "End timeout" : "Time out",
      icon: "history",
      danger: !isTimedOut,
      onClick: () => (isTimedOut ? endTimeout(view, member) : timeOut(view, member)),
    },
    access.memberDenialReason(Permissions.KICK_MEMBERS, member) === null && {
      label: "Kick",
      icon: "leave",
      danger: true,
      onClick: () => kick(view, member),
    },
    access.memberDenialReason(Permissions.BAN_MEMBERS, member) === null && {
      label: "Ban",
      icon: "block",
      danger: true,
      onClick: () => ban(view, member),
    },
  ];
}
