/** Channels that share their messages with a lobby of a game (spec/sdk.md#12.6). */

import { MessageFlags, Permissions } from "../network/enums.js";
import { confirmAction, openDialog } from "../ui/dialogs.js";
import { h, icon } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { consentPath, isAuthorized } from "./authorizations.js";
import { applicationName, loadApplication } from "./game_images.js";

/** Return the badge of a linked channel, which opens an explanation; null if the channel is not linked. */
export function linkedChannelBadge(context, channel) {
  const { linked_lobby: linked } = channel;
  if (!linked) return null;
  return h(
    "button",
    {
      type: "button",
      class: "linked-badge",
      title: "Shared with a game",
      "aria-haspopup": "dialog",
      dataset: { focus: "linked" },
      onclick: () => openLinkedChannelDialog(context, channel),
    },
    icon("link"),
    h("span", { class: "visually-hidden" }, "Shared with "),
    applicationName(context, linked.application_id),
  );
}

/** Return the mark of a linked channel in the sidebar, or null. */
export function linkedChannelMark({ linked_lobby: linked }) {
  return linked
    ? h("span", { role: "img", "aria-label": "shared with a game", title: "Shared with a game" }, icon("link"))
    : null;
}

/** Return the tag of a message that its author sent in a game, or null. */
export function gameMessageTag(message, context) {
  if (!((message.flags ?? 0) & MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION) || !message.application_id) return null;
  return h("span", { class: "tag game-tag" }, "From ", applicationName(context, message.application_id));
}

/**
 * Return the notice in place of the composer if the user must authorize the game to write in a channel, else null.
 *
 * @returns {any[] | null}
 */
export function authorizationNotice(context, { linked_lobby: linked }) {
  if (!linked?.require_application_authorization || isAuthorized(context, linked.application_id)) return null;
  return [
    "This channel is shared with ",
    applicationName(context, linked.application_id),
    ". Connect it to your account to write here. ",
    h("a", { class: "button small", href: consentPath(linked.application_id) }, "Connect"),
  ];
}

async function openLinkedChannelDialog(context, channel) {
  const { api, state } = context;
  const { linked_lobby: linked, guild_id: guildId } = channel;
  const { name } = await loadApplication(context, linked.application_id).catch(() => ({ name: "a game" }));
  const linkedBy = state.user(linked.linked_by) ?? { id: linked.linked_by, username: "an unknown user" };
  const unlink = async close => {
    const text = "Messages are no longer shared with the game. Messages that were sent stay here.";
    if (!(await confirmAction(`Unlink #${channel.name} from ${name}?`, text, "Unlink"))) return;
    if (await runAndReport(() => api.request("DELETE", `/channels/${channel.id}/linked-lobby`))) close();
  };
  const needsAuthorization = authorizationNotice(context, channel) !== null;
  openDialog(`Shared with ${name}`, close => [
    h(
      "p",
      null,
      `Messages of #${channel.name} also appear in a lobby of ${name}. Players read and answer them in the game, `,
      `even if they are not members of this guild. Messages from the game have the tag “From ${name}”.`,
    ),
    linked.require_application_authorization
      ? h("p", null, `Only people who connected ${name} to their account can write here.`)
      : null,
    h(
      "p",
      { class: "muted small" },
      "Linked by ",
      h("span", { dir: "auto" }, state.displayName(linkedBy, guildId)),
      ", ",
      timeElement(Date.parse(linked.linked_at), "D"),
    ),
    h(
      "div",
      { class: "row" },
      needsAuthorization
        ? h("a", { class: "button small", href: consentPath(linked.application_id) }, `Connect ${name}`)
        : null,
      state.can(channel.id, Permissions.MANAGE_CHANNELS)
        ? h("button", { type: "button", class: "button small danger", onclick: () => unlink(close) }, "Unlink")
        : null,
    ),
  ]);
}
