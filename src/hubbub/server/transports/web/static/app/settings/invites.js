/** Guild settings: invites. */

import { Permissions } from "../network/enums.js";
import { h, setChildren } from "../ui/dom.js";
import { runAndReport, showNotice } from "../ui/notices.js";
import { relativeTime } from "../ui/times.js";
import { userAvatar } from "../content/avatars.js";
import { actionButton, listEntry, lockedNotice, openActionDialog } from "./form.js";

/** @type {import("./guild_settings.js").SettingsScreen} */
export const INVITES_SCREEN = { id: "invites", label: "Invites", icon: "invite", build };

function build(view) {
  const { context, guildId, access } = view;
  const why = access.whyNot(Permissions.MANAGE_GUILD);
  if (why !== null) return lockedNotice(`You cannot see the invites. ${why}`);
  let invites = [];
  const list = h("ul", { class: "settings-list", "aria-label": "Invites" });
  const status = h("p", { class: "muted", role: "status" }, "Loading…");
  const draw = () => {
    status.textContent = invites.length ? "" : "There are no invites. Create one from the guild menu.";
    const remove = invite => {
      invites = invites.filter(other => other !== invite);
      draw();
    };
    setChildren(
      list,
      invites.map(invite => inviteEntry(context, invite, () => remove(invite))),
    );
  };
  runAndReport(async () => {
    invites = await context.api.request("GET", `/guilds/${guildId}/invites`);
    draw();
  });
  return [status, list];
}

function inviteEntry(context, invite, onRevoked) {
  const inviter = invite.inviter ? invite.inviter.global_name || invite.inviter.username : null;
  const uses = `${invite.uses} of ${invite.max_uses || "unlimited"} uses`;
  const expiry = invite.expires_at ? `expires ${relativeTime(Date.parse(invite.expires_at))}` : "never expires";
  const copy = () =>
    runAndReport(async () => {
      await navigator.clipboard.writeText(`${context.webUrl}/invite/${invite.code}`);
      showNotice("Link copied.", "done");
    });
  const revoke = async () => {
    const isDone = await openActionDialog({
      title: "Revoke this invite?",
      text: `The link ${context.webUrl}/invite/${invite.code} stops working. Members who joined with it stay.`,
      label: "Revoke",
      run: () => context.api.request("DELETE", `/invites/${invite.code}`),
    });
    if (!isDone) return;
    onRevoked();
    showNotice("Invite revoked.", "done");
  };
  return listEntry({
    mark: invite.inviter ? userAvatar(invite.inviter, inviter) : null,
    title: invite.code,
    details: [
      [invite.channel ? `#${invite.channel.name}` : null, inviter ? `created by ${inviter}` : null]
        .filter(Boolean)
        .join(" · "),
      `${uses} · ${expiry}`,
    ],
    actions: [
      actionButton("Copy link", copy, { name: `Copy link of ${invite.code}` }),
      actionButton("Revoke", revoke, { danger: true, name: `Revoke ${invite.code}` }),
    ],
  });
}
