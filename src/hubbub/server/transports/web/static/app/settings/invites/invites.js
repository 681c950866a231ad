/** Guild settings: the list of invites, which the user creates, copies, restricts to users and revokes. */

import { InviteTargetType } from "../../generated/enums.js";
import { Permissions } from "../../network/enums.js";
import { platformNow } from "../../network/platform_clock.js";
import { copyText } from "../../ui/clipboard.js";
import { setDenialReason } from "../../ui/controls.js";
import { h, icon } from "../../ui/dom.js";
import { showNotice } from "../../ui/notices.js";
import { relativeTime } from "../../ui/times.js";
import { t, tn } from "../../ui/translation.js";
import { userAvatar } from "../../content/avatars.js";
import { openActionDialog } from "../forms/form.js";
import { actionButton, listEntry, lockedNotice } from "../forms/layout.js";
import { invitableChannels, openInviteCreation } from "./creation.js";
import { openTargetUsers } from "./targets.js";
import { liveList } from "../forms/live_list.js";

/** @type {import("../forms/settings_dialog.js").SettingsScreen} */
export const INVITES_SCREEN = { id: "invites", label: t("Invites"), icon: "invite", build };

/** Return why the user cannot see the invites, or null. */
function viewDenialReason(access) {
  return access.hasPermissions(Permissions.VIEW_AUDIT_LOG) ? null : access.findDenialReason(Permissions.MANAGE_GUILD);
}

function build(view) {
  const { context, guildId } = view;
  const content = h("div");
  let list = null,
    memberCount = view.guild.member_count;
  const createButton = h(
    "button",
    { type: "button", class: "button small", onclick: () => createInvite() },
    icon("plus"),
    t("Create invite"),
  );
  const createInvite = async () => {
    const invite = await openInviteCreation(view);
    if (invite === null) return;
    await copyLink(context, invite);
    await list?.refresh();
    list?.focus(invite.code, "copy");
  };
  const afterChange = async () => {
    await list?.refresh();
    createButton.focus();
  };
  const drawInvites = () => {
    const denialReason = viewDenialReason(view.access);
    if (denialReason !== null) {
      list = null;
      content.replaceChildren(lockedNotice(t("You cannot see the invites. {reason}", { reason: denialReason })));
      return;
    }
    const canInvite = invitableChannels(view).length > 0;
    setDenialReason(createButton, canInvite ? null : t("You need the permission “Create invites” in a channel."));
    if (list !== null) {
      list.draw();
      return;
    }
    list = liveList({
      label: t("Invites"),
      emptyText: t("There are no invites yet. Create one and share its link."),
      fetchItems: () => context.api.request("GET", `/guilds/${guildId}/invites`),
      describeItem: invite => inviteEntry(view, invite, afterChange),
    });
    content.replaceChildren(h("div", { class: "settings-tools" }, createButton), ...list.nodes);
  };
  view.onChange(({ kind }) => {
    drawInvites();
    // A new member may have used an invite.
    const hasMemberCountChanged = view.guild.member_count !== memberCount;
    memberCount = view.guild.member_count;
    if (kind === "invites" || hasMemberCountChanged) list?.refreshSoon();
  });
  drawInvites();
  return content;
}

const linkOf = ({ webUrl }, invite) => `${webUrl}/invite/${invite.code}`;

const copyLink = (context, invite) => copyText(linkOf(context, invite), t("Link copied."));

/** Return why the user cannot revoke an invite, or null. */
function revocationDenialReason(access, invite) {
  if (access.hasPermissions(Permissions.MANAGE_GUILD)) return null;
  return access.findChannelDenialReason(Permissions.MANAGE_CHANNELS, invite.channel?.id);
}

const usesText = ({ uses, max_uses: max }) =>
  max ? t("{uses} of {max} uses", { uses, max }) : tn("{count} use", "{count} uses", uses);

/** Return the texts about an invite; absent ones are null. */
function inviteTexts(invite) {
  const inviter = invite.inviter ? invite.inviter.global_name || invite.inviter.username : null;
  const origin = [
    invite.channel ? `#${invite.channel.name}` : null,
    inviter ? t("created by {name}", { name: inviter }) : null,
  ];
  const uses = invite.uses === undefined ? null : usesText(invite);
  const expiry = invite.expires_at
    ? t("expires {time}", { time: relativeTime(Date.parse(invite.expires_at), platformNow()) })
    : t("never expires");
  return [
    origin.filter(Boolean).join(" · "),
    [uses, expiry].filter(Boolean).join(" · "),
    invite.temporary ? t("Temporary: members without a role leave when they go offline") : null,
    invite.roles?.length ? t("Gives {names}", { names: invite.roles.map(role => role.name).join(", ") }) : null,
    targetText(invite),
  ];
}

/** Return the text about the stream or activity that an invite opens, or null. */
function targetText({ target_type: type, target_user: user, target_application: application }) {
  if (type === InviteTargetType.STREAM) {
    const name = user?.global_name || user?.username;
    return name ? t("Leads to the stream of {name}", { name }) : t("Leads to the stream of a user");
  }
  if (type === InviteTargetType.EMBEDDED_APPLICATION)
    return application ? t("Leads to {name}", { name: application.name }) : t("Leads to an activity");
  return null;
}

function inviteEntry(view, invite, onChange) {
  const { context, access } = view;
  const denialReason = revocationDenialReason(access, invite),
    details = inviteTexts(invite);
  const revoke = async () => {
    const isDone = await openActionDialog({
      title: t("Revoke this invite?"),
      text: t("The link {link} stops working. Members who joined with it stay.", { link: linkOf(context, invite) }),
      label: t("Revoke"),
      run: () => context.api.request("DELETE", `/invites/${invite.code}`),
    });
    if (!isDone) return;
    showNotice(t("Invite revoked."), "done");
    onChange();
  };
  return {
    key: invite.code,
    version: JSON.stringify([details, denialReason, invite.inviter?.avatar]),
    build: () => {
      const copyButton = actionButton(t("Copy link"), () => copyLink(context, invite), {
        name: t("Copy link of {code}", { code: invite.code }),
      });
      copyButton.dataset.focus = "copy";
      return listEntry({
        // The invite of the widget has no inviter.
        image: invite.inviter
          ? userAvatar(invite.inviter, invite.inviter.global_name || invite.inviter.username)
          : h("span", { class: "entry-mark" }, icon("link")),
        title: invite.code,
        details,
        actions: [
          copyButton,
          actionButton(t("Users"), () => openTargetUsers(view, invite), {
            name: t("Users of {code}", { code: invite.code }),
          }),
          actionButton(t("Revoke"), revoke, {
            isDangerous: true,
            denialReason,
            name: t("Revoke {code}", { code: invite.code }),
          }),
        ],
      });
    },
  };
}
