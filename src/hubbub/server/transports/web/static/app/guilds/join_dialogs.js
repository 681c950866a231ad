/** Dialogs for joining or creating a guild, starting a conversation and adding users to a group. */

import { ErrorCode } from "../generated/errors.js";
import { GUILD_NAME_MAX } from "../generated/limits.js";
import { RelationshipType } from "../network/enums.js";
import { findFeatureObstacle } from "../network/features.js";
import { formField } from "../ui/controls.js";
import { openDialog } from "../ui/dialogs.js";
import { h, setChildren } from "../ui/dom.js";
import { runAndReport } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { t, tn } from "../ui/translation.js";
import { userAvatar, guildIcon } from "../content/avatars.js";

const INVITE_CODE_PATTERN = /(?:^|\/invite\/)([A-Za-z0-9-]{2,64})\/?$/;

/** Texts for invites that cannot be accepted, by the code of the error. */
const INVITE_ERROR_TEXTS = new Map([
  [ErrorCode.UNKNOWN_INVITE, t("This invite is invalid or has expired.")],
  [ErrorCode.USER_BANNED, t("You are banned from this guild. Only its moderators can lift the ban.")],
  [ErrorCode.FEATURE_DISABLED, t("This guild is not accepting new members right now. Try again later.")],
  [ErrorCode.MAX_GUILDS, t("You have reached the maximum number of guilds. Leave a guild first.")],
  [ErrorCode.MAX_MEMBERS, t("This guild is full.")],
  [ErrorCode.MAX_RECIPIENTS, t("This group is full.")],
  [ErrorCode.UNKNOWN_GUILD, t("This guild was deleted.")],
]);

const inviteErrorText = error => INVITE_ERROR_TEXTS.get(error.code) ?? error.userText;

/** Open the dialog that joins a guild by invite or creates one. */
export function openAddGuild(context) {
  const { api } = context;
  openDialog(t("Join or create a guild"), close => {
    const invite = formField(
      t("Invite link"),
      h("input", { type: "text", placeholder: `${context.webUrl}/invite/…`, autocomplete: "off", autofocus: true }),
      t("Paste an invite link or code."),
    );
    const preview = h("div", { class: "search-results" });
    const lookUp = async event => {
      event.preventDefault();
      invite.setError(null);
      setChildren(preview);
      const code = INVITE_CODE_PATTERN.exec(invite.input.value.trim())?.[1];
      if (code === undefined) {
        invite.setError(t("This is not a valid invite."));
        return;
      }
      try {
        const foundInvite = await api.request("GET", `/invites/${code}`, { query: { with_counts: true } });
        setChildren(preview, invitePreview(context, code, foundInvite, close, invite));
        preview.querySelector("button").focus();
      } catch (error) {
        invite.setError(inviteErrorText(error));
      }
    };
    const name = formField(t("New guild name"), h("input", { type: "text", maxlength: GUILD_NAME_MAX, dir: "auto" }));
    const createGuild = async event => {
      event.preventDefault();
      try {
        const guild = await api.request("POST", "/guilds", { json: { name: name.input.value.trim() } });
        close();
        context.go(`/app/channels/${guild.id}`);
      } catch (error) {
        name.setError(error.userText);
      }
    };
    findFeatureObstacle(api, "guild_creation", t("Creating guilds is switched off on this server.")).then(reason => {
      if (reason === null) return;
      name.setError(reason);
      /** @type {HTMLInputElement} */ for (const element of name.node.closest("form").elements) element.disabled = true;
    });
    return [
      h(
        "form",
        { class: "stack", onsubmit: lookUp },
        invite.node,
        h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, t("Look up"))),
      ),
      preview,
      h("hr"),
      h(
        "form",
        { class: "stack", onsubmit: createGuild },
        name.node,
        h("div", { class: "row end" }, h("button", { type: "submit", class: "button quiet" }, t("Create guild"))),
      ),
    ];
  });
}

function invitePreview(context, code, invite, close, inviteField) {
  const guild = invite.guild;
  const accept = async () => {
    try {
      const acceptedInvite = await context.api.request("POST", `/invites/${code}`, { json: {} });
      close();
      const channel = acceptedInvite.channel,
        guildId = acceptedInvite.guild?.id ?? acceptedInvite.guild_id;
      if (guildId) context.go(channel ? `/app/channels/${guildId}/${channel.id}` : `/app/channels/${guildId}`);
      else context.go(channel ? channelPath(channel) : "/app");
    } catch (error) {
      inviteField.setError(inviteErrorText(error));
    }
  };
  const memberCount = invite.approximate_member_count;
  return h(
    "div",
    { class: "invitation" },
    guild ? guildIcon(guild) : null,
    h(
      "div",
      { class: "tight" },
      h("p", null, h("strong", { dir: "auto" }, guild?.name ?? invite.channel?.name ?? t("Conversation"))),
      memberCount ? h("p", { class: "muted small" }, tn("{count} member", "{count} members", memberCount)) : null,
    ),
    h("button", { type: "button", class: "button", onclick: accept }, t("Accept invite")),
  );
}

/** Open the dialog that starts a conversation with one or several friends. */
export function openNewConversation(context) {
  const { api, state } = context;
  const startConversation = async userIds => {
    const json = userIds.length === 1 ? { recipient_id: userIds[0] } : { recipients: userIds };
    const channel = await api.request("POST", "/users/@me/channels", { json });
    if (!state.channels.has(channel.id)) state.apply("CHANNEL_CREATE", channel);
    context.go(channelPath(channel));
  };
  const emptyText = t("You have no friends yet. You can message guild members from the member list.");
  chooseFriends(
    context,
    t("New message"),
    friendsOf(state),
    { legend: t("Select one friend, or several for a group"), label: t("Start conversation"), emptyText },
    startConversation,
  );
}

/** Open the dialog that adds friends to a group. */
export function openAddPeople(context, channel) {
  const { api, state } = context;
  const recipients = new Set((channel.recipients ?? []).map(recipient => recipient.id));
  const add = async userIds => {
    for (const id of userIds) await api.request("PUT", `/channels/${channel.id}/recipients/${id}`, { json: {} });
  };
  const addableFriends = friendsOf(state).filter(friend => !recipients.has(friend.id));
  chooseFriends(
    context,
    t("Add people"),
    addableFriends,
    { legend: t("Friends to add"), label: t("Add"), emptyText: t("All your friends are already in this group.") },
    add,
  );
}

const friendsOf = state =>
  [...state.relationships.values()].filter(relationship => relationship.type === RelationshipType.FRIEND);

function chooseFriends({ state }, title, friends, { legend, label, emptyText }, action) {
  openDialog(title, close => {
    if (!friends.length) return h("p", { class: "muted" }, emptyText);
    const checkboxes = friends.map(friend => [friend.id, h("input", { type: "checkbox" })]);
    const submit = async event => {
      event.preventDefault();
      const chosenIds = checkboxes.filter(([, checkbox]) => checkbox.checked).map(([id]) => id);
      if (chosenIds.length && (await runAndReport(() => action(chosenIds)))) close();
    };
    const friendChoices = friends.map(({ id, user }, index) => {
      const friend = user ?? state.user(id),
        name = state.displayName(friend, null);
      return h(
        "label",
        { class: "choice" },
        checkboxes[index][1],
        userAvatar(friend, name, state.statusOf(id)),
        h("span", { dir: "auto" }, name),
      );
    });
    return h(
      "form",
      { class: "stack", onsubmit: submit },
      h("fieldset", { class: "choices" }, h("legend", null, legend), friendChoices),
      h("div", { class: "row end" }, h("button", { type: "submit", class: "button" }, label)),
    );
  });
}
