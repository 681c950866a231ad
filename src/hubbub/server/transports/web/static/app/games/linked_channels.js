/** Badge, icon, message tag, notice and dialog for channels that share their messages with a lobby of a game (spec/sdk.md#12.6). */

import { MessageFlags, Permissions } from "../network/enums.js";
import { confirmAction, openDialog } from "../ui/dialogs.js";
import { h, icon } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { timeElement } from "../ui/times.js";
import { t, tNodes } from "../ui/translation.js";
import { consentPath, isAuthorized } from "./authorizations.js";
import { applicationName, loadApplication } from "./game_images.js";

/** Return the badge of a linked channel, which opens an explanation; null if the channel is not linked. */
export function linkedChannelBadge(context, channel) {
  const { linked_lobby: linkedLobby } = channel;
  if (!linkedLobby) return null;
  return h(
    "button",
    {
      type: "button",
      class: "linked-badge",
      title: t("Shared with a game"),
      "aria-haspopup": "dialog",
      dataset: { focus: "linked" },
      onclick: () => openLinkedChannelDialog(context, channel),
    },
    icon("link"),
    tNodes("Shared with {game}", { game: applicationName(context, linkedLobby.application_id) }).map(part =>
      typeof part === "string" ? h("span", { class: "visually-hidden" }, part) : part,
    ),
  );
}

/** Return the icon that shows in the sidebar that a channel is linked, or null. */
export function linkedChannelIcon({ linked_lobby: linkedLobby }) {
  return linkedLobby
    ? h("span", { role: "img", "aria-label": t("shared with a game"), title: t("Shared with a game") }, icon("link"))
    : null;
}

/** Return the tag of a message that its author sent in a game, or null. */
export function gameMessageTag(context, message) {
  if (!((message.flags ?? 0) & MessageFlags.SENT_BY_SOCIAL_LAYER_INTEGRATION) || !message.application_id) return null;
  return h(
    "span",
    { class: "tag game-tag" },
    tNodes("From {game}", { game: applicationName(context, message.application_id) }),
  );
}

/**
 * Return the notice that replaces the composer if the user must authorize the game before they can write, else null.
 *
 * @returns {any[] | null}
 */
export function authorizationNotice(context, { linked_lobby: linkedLobby }) {
  if (!linkedLobby?.require_application_authorization || isAuthorized(context, linkedLobby.application_id)) return null;
  return tNodes("This channel is shared with {game}. Connect it to your account to write here. {button}", {
    game: applicationName(context, linkedLobby.application_id),
    button: h("a", { class: "button small", href: consentPath(linkedLobby.application_id) }, t("Connect")),
  });
}

async function openLinkedChannelDialog(context, channel) {
  const { api, state } = context;
  const { linked_lobby: linkedLobby, guild_id: guildId } = channel;
  const { name } = await loadApplication(context, linkedLobby.application_id).catch(() => ({ name: t("a game") }));
  const linkedBy = state.user(linkedLobby.linked_by) ?? { id: linkedLobby.linked_by, username: t("an unknown user") };
  const unlink = async close => {
    const text = t("Messages are no longer shared with the game. Messages that were sent stay here.");
    if (
      !(await confirmAction(
        t("Unlink #{channel} from {game}?", { channel: channel.name, game: name }),
        text,
        t("Unlink"),
      ))
    )
      return;
    if (await runAndReport(() => api.request("DELETE", `/channels/${channel.id}/linked-lobby`))) close();
  };
  const needsAuthorization = authorizationNotice(context, channel) !== null;
  openDialog(t("Shared with {game}", { game: name }), close => [
    h(
      "p",
      null,
      t(
        "Messages of #{channel} also appear in a lobby of {game}. Players read and answer them in the game, " +
          "even if they are not members of this guild. Messages from the game have the tag “From {game}”.",
        { channel: channel.name, game: name },
      ),
    ),
    linkedLobby.require_application_authorization
      ? h("p", null, t("Only people who connected {game} to their account can write here.", { game: name }))
      : null,
    h(
      "p",
      { class: "muted small" },
      tNodes("Linked by {name}, {date}", {
        name: h("span", { dir: "auto" }, state.displayName(linkedBy, guildId)),
        date: timeElement(Date.parse(linkedLobby.linked_at), "D"),
      }),
    ),
    h(
      "div",
      { class: "row" },
      needsAuthorization
        ? h(
            "a",
            { class: "button small", href: consentPath(linkedLobby.application_id) },
            t("Connect {game}", { game: name }),
          )
        : null,
      state.can(channel.id, Permissions.MANAGE_CHANNELS)
        ? h("button", { type: "button", class: "button small danger", onclick: () => unlink(close) }, t("Unlink"))
        : null,
    ),
  ]);
}
