/** The menu of a guild, and the dialog that creates an invite. */

import { ChannelType, Permissions, isMessageable, isThread, isForum } from "../network/enums.js";
import { markChannelsRead } from "../state/read_markers.js";
import { copyText } from "../ui/clipboard.js";
import { formField } from "../ui/controls.js";
import { confirmAction, openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { runAndReport } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { channelPath } from "../ui/router.js";
import { t } from "../ui/translation.js";
import { reportItem } from "../reports/report_items.js";
import { guildNotificationItems } from "./mutes.js";

/** Members with one of these permissions can open the settings. */
const SETTINGS_PERMISSIONS =
  Permissions.MANAGE_GUILD |
  Permissions.MANAGE_ROLES |
  Permissions.MANAGE_CHANNELS |
  Permissions.MANAGE_NICKNAMES |
  Permissions.KICK_MEMBERS |
  Permissions.BAN_MEMBERS |
  Permissions.MODERATE_MEMBERS |
  Permissions.VIEW_AUDIT_LOG |
  Permissions.CREATE_GUILD_EXPRESSIONS |
  Permissions.MANAGE_GUILD_EXPRESSIONS |
  Permissions.MANAGE_WEBHOOKS |
  Permissions.CREATE_EVENTS |
  Permissions.MANAGE_EVENTS;

/** Open the menu of a guild, with the actions that the user's permissions allow. */
export function openGuildMenu(anchor, context, guildId) {
  const { state } = context;
  const guild = state.guilds.get(guildId);
  const firstInvitableChannel = state
    .channelsOf(guildId)
    .find(
      channel =>
        !isThread(channel) &&
        (isMessageable(channel) || isForum(channel)) &&
        state.can(channel.id, Permissions.CREATE_INSTANT_INVITE | Permissions.VIEW_CHANNEL),
    );
  const channelInView = state.channels.get(context.channelId);
  const canInviteToView =
    channelInView?.guild_id === guildId &&
    !isThread(channelInView) &&
    state.can(channelInView.id, Permissions.CREATE_INSTANT_INVITE);
  const inviteChannel = canInviteToView ? channelInView : firstInvitableChannel;
  openMenu(anchor, guild.name, [
    inviteChannel && {
      label: t("Invite people"),
      icon: "invite",
      onClick: () => openInviteLink(context, inviteChannel),
    },
    state.canInGuild(guildId, Permissions.MANAGE_CHANNELS) && {
      label: t("Create channel"),
      icon: "plus",
      onClick: () => createChannel(context, guildId),
    },
    state.permissionsInGuild(guildId) & SETTINGS_PERMISSIONS && {
      label: t("Guild settings"),
      icon: "settings",
      onClick: () => openSettings(context, guildId),
    },
    guild.roles?.some(role => role.tags !== undefined && "guild_connections" in role.tags) && {
      label: t("Linked roles"),
      icon: "link",
      onClick: () => openLinkedRolesOf(context, guildId),
    },
    { label: t("Mark all as read"), icon: "check", onClick: () => markAllRead(context, guildId) },
    ...guildNotificationItems(context, anchor, guild),
    { label: t("Move…"), icon: "move", onClick: () => openMoveMenu(anchor, context, guildId) },
    guild.owner_id !== context.me.id && reportItem(context, { kind: "guild", id: guildId }),
    guild.owner_id !== context.me.id && {
      label: t("Leave guild"),
      icon: "leave",
      isDangerous: true,
      onClick: () => leaveGuild(context, guild),
    },
  ]);
}

async function openLinkedRolesOf(context, guildId) {
  (await loadModule(() => import("./linked_roles.js")))?.openLinkedRoles(context, guildId);
}

async function openMoveMenu(anchor, context, guildId) {
  (await loadModule(() => import("./folders.js")))?.openGuildMoveMenu(anchor, context, guildId);
}

async function openSettings(context, guildId) {
  (await loadModule(() => import("../settings/guild_settings.js")))?.openGuildSettings(context, guildId);
}

/** Open the dialog that creates an invite to a channel and shows its link. */
export function openInviteLink(context, channel) {
  const { api, webUrl } = context;
  openDialog(t("Invite people to #{name}", { name: channel.name }), () => {
    const linkInput = h("input", { type: "text", readonly: true, value: "…" });
    const linkField = formField(t("Invite link"), linkInput, t("Anyone with this link can join."));
    const maxAgeSelect = h(
      "select",
      null,
      [
        ["604800", t("7 days")],
        ["86400", t("1 day")],
        ["1800", t("30 minutes")],
        ["0", t("Never")],
      ].map(([value, label]) => h("option", { value }, label)),
    );
    const create = () =>
      runAndReport(async () => {
        const invite = await api.request("POST", `/channels/${channel.id}/invites`, {
          json: { max_age: Number(maxAgeSelect.value), unique: false },
        });
        linkInput.value = `${webUrl}/invite/${invite.code}`;
      });
    const copy = () => copyText(linkInput.value, t("Link copied."));
    maxAgeSelect.addEventListener("change", create);
    create();
    return h(
      "div",
      { class: "stack" },
      linkField.node,
      formField(t("Expires after"), maxAgeSelect).node,
      h("div", { class: "row end" }, h("button", { type: "button", class: "button", onclick: copy }, t("Copy link"))),
    );
  });
}

async function createChannel(context, guildId) {
  const module = await loadModule(() => import("../settings/channels/creation.js"));
  const channel = await module?.openChannelCreation(context, guildId);
  if (channel && channel.type !== ChannelType.GUILD_CATEGORY) context.go(channelPath(channel));
}

function markAllRead(context, guildId) {
  runAndReport(() => markChannelsRead(context, context.state.channelsOf(guildId)));
}

async function leaveGuild(context, guild) {
  if (
    !(await confirmAction(t("Leave {name}?", { name: guild.name }), t("You need an invite to join again."), t("Leave")))
  )
    return;
  if (await runAndReport(() => context.api.request("DELETE", `/users/@me/guilds/${guild.id}`))) context.go("/app");
}
