/** Guild settings: the list of invites, which the user creates, copies, restricts to users and revokes. */

import { InviteTargetType } from "../generated/enums.js";
import { Permissions } from "../network/enums.js";
import { h, icon } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { relativeTime } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { openActionDialog } from "./form.js";
import { actionButton, listEntry, lockedNotice } from "./layout.js";
import { invitableChannels, openInviteCreation } from "./invite_creation.js";
import { openTargetUsers } from "./invite_targets.js";
import { liveList } from "./live_list.js";

/** @type {import("./settings_dialog.js").SettingsScreen} */
export const INVITES_SCREEN = { id: "invites", label: "Invites", icon: "invite", build };

/** Return why the user cannot see the invites, or null. */
function listDenialReason(access) {
  return access.has(Permissions.VIEW_AUDIT_LOG) ? null : access.findDenialReason(Permissions.MANAGE_GUILD);
}

function build(view) {
  const { context, guildId } = view;
  const content = h("div");
  let list = null,
    memberCount = view.guild.member_count;
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => add() },
    icon("plus"),
    "Create invite",
  );
  const add = async () => {
    const invite = await openInviteCreation(view);
    if (invite === null) return;
    await copyLink(context, invite);
    await list?.load();
    list?.focus(invite.code, "copy");
  };
  const afterChange = async () => {
    await list?.load();
    createButton.focus();
  };
  const draw = () => {
    const denialReason = listDenialReason(view.access);
    if (denialReason !== null) {
      list = null;
      content.replaceChildren(lockedNotice(`You cannot see the invites. ${denialReason}`));
      return;
    }
    const canInvite = invitableChannels(view).length > 0;
    createButton.disabled = !canInvite;
    createButton.title = canInvite ? "" : "You need the permission “Create invites” in a channel.";
    if (list !== null) {
      list.draw();
      return;
    }
    list = liveList({
      label: "Invites",
      emptyText: "There are no invites yet. Create one and share its link.",
      fetch: () => context.api.request("GET", `/guilds/${guildId}/invites`),
      entry: invite => inviteEntry(view, invite, afterChange),
    });
    content.replaceChildren(h("div", { class: "settings-tools" }, createButton), ...list.nodes);
  };
  view.onChange(({ kind }) => {
    draw();
    // A new member may have used an invite.
    const hasMemberCountChanged = view.guild.member_count !== memberCount;
    memberCount = view.guild.member_count;
    if (kind === "invites" || hasMemberCountChanged) list?.loadSoon();
  });
  draw();
  return content;
}

const linkOf = ({ webUrl }, invite) => `${webUrl}/invite/${invite.code}`;

function copyLink(context, invite) {
  return runAndReport(async () => {
    await navigator.clipboard.writeText(linkOf(context, invite));
    showNotice("Link copied.", "done");
  });
}

/** Return why the user cannot revoke an invite, or null. */
function revocationDenialReason(access, invite) {
  if (access.has(Permissions.MANAGE_GUILD)) return null;
  return access.channelDenialReason(Permissions.MANAGE_CHANNELS, invite.channel?.id);
}

const usesText = ({ uses, max_uses: max }) => (max ? `${uses} of ${max} uses` : uses === 1 ? "1 use" : `${uses} uses`);

/** Return the texts about an invite; absent ones are null. */
function describe(invite) {
  const inviter = invite.inviter ? invite.inviter.global_name || invite.inviter.username : null;
  const origin = [invite.channel ? `#${invite.channel.name}` : null, inviter ? `created by ${inviter}` : null];
  const uses = invite.uses === undefined ? null : usesText(invite);
  const expiry = invite.expires_at ? `expires ${relativeTime(Date.parse(invite.expires_at))}` : "never expires";
  return [
    origin.filter(Boolean).join(" · "),
    [uses, expiry].filter(Boolean).join(" · "),
    invite.temporary ? "Temporary: members without a role leave when they go offline" : null,
    invite.roles?.length ? `Gives ${invite.roles.map(role => role.name).join(", ")}` : null,
    targetText(invite),
  ];
}

/** Return the text about the stream or activity that an invite opens, or null. */
function targetText({ target_type: type, target_user: user, target_application: application }) {
  if (type === InviteTargetType.STREAM)
    return `Leads to the stream of ${user?.global_name || user?.username || "a user"}`;
  if (type === InviteTargetType.EMBEDDED_APPLICATION) return `Leads to ${application?.name ?? "an activity"}`;
  return null;
}

function inviteEntry(view, invite, onChange) {
  const { context, access } = view;
  const denialReason = revocationDenialReason(access, invite),
    details = describe(invite);
  const revoke = async () => {
    const isDone = await openActionDialog({
      title: "Revoke this invite?",
      text: `The link ${linkOf(context, invite)} stops working. Members who joined with it stay.`,
      label: "Revoke",
      run: () => context.api.request("DELETE", `/invites/${invite.code}`),
    });
    if (!isDone) return;
    showNotice("Invite revoked.", "done");
    onChange();
  };
  return {
    key: invite.code,
    version: JSON.stringify([details, denialReason, invite.inviter?.avatar]),
    build: () => {
      const copy = actionButton("Copy link", () => copyLink(context, invite), { name: `Copy link of ${invite.code}` });
      copy.dataset.focus = "copy";
      return listEntry({
        // The invite of the widget has no inviter.
        mark: invite.inviter
          ? userAvatar(invite.inviter, invite.inviter.global_name || invite.inviter.username)
          : h("span", { class: "entry-mark" }, icon("link")),
        title: invite.code,
        details,
        actions: [
          copy,
          actionButton("Users", () => openTargetUsers(view, invite), { name: `Users of ${invite.code}` }),
          actionButton("Revoke", revoke, { danger: true, denialReason, name: `Revoke ${invite.code}` }),
        ],
      });
    },
  };
}
