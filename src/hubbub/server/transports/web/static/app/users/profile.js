/** The profile dialog of a user, relationship actions, direct messages, and the handler that opens the menu of a user. */

import { RelationshipType } from "../network/enums.js";
import { confirmAction, openDialog } from "../ui/dialogs.js";
import { h } from "../ui/dom.js";
import { createPart } from "../ui/layout_part.js";
import { loadModule } from "../ui/lazy_modules.js";
import { showNotice, runAndReport } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { t } from "../ui/translation.js";
import { userAvatar, statusIndicator } from "../content/avatars.js";
import { userBannerPath } from "../content/cdn_paths.js";
import "../games/activity_card.js";
import { inviteButtons } from "../games/party_buttons.js";

const { FRIEND, BLOCKED, PENDING_INCOMING, PENDING_OUTGOING } = RelationshipType;

/** Names of the statuses of users who are online. */
const STATUS_NAMES = { online: t("Online"), idle: t("Idle"), dnd: t("Do not disturb") };

/** Send or accept a friend request. */
export function addFriend({ api }, userId) {
  return runAndReport(() => api.request("PUT", `/users/@me/relationships/${userId}`, { json: { type: FRIEND } }));
}

/** Remove a relationship: a friend, a request or a block. */
export function removeRelationship({ api }, userId) {
  return runAndReport(() => api.request("DELETE", `/users/@me/relationships/${userId}`));
}

/** Block a user after confirmation. */
export async function blockUser({ api }, user, name) {
  if (
    !(await confirmAction(
      t("Block {name}?", { name }),
      t("They cannot message you, and their messages in guilds are hidden."),
      t("Block"),
    ))
  )
    return false;
  return runAndReport(() => api.request("PUT", `/users/@me/relationships/${user.id}`, { json: { type: BLOCKED } }));
}

/** Request the direct message channel with a user and go to it. */
export function openDirectMessage(context, userId) {
  return runAndReport(async () => {
    const channel = await context.api.request("POST", "/users/@me/channels", { json: { recipient_id: userId } });
    if (!context.state.channels.has(channel.id)) context.state.apply("CHANNEL_CREATE", channel);
    context.go(channelPath(channel));
  });
}

/**
 * Return the actions that change the relationship with a user.
 *
 * @returns {{label: string, icon: string, style: string, run: () => any}[]} `style` is the class of a button
 */
export function relationshipActions(context, user) {
  const { state } = context;
  const type = state.relationships.get(user.id)?.type;
  const name = state.displayName(user, null);
  const block = { label: t("Block"), icon: "block", style: "danger", run: () => blockUser(context, user, name) };
  const remove = label => ({ label, icon: "close", style: "quiet", run: () => removeRelationship(context, user.id) });
  if (type === FRIEND) {
    const confirmRemoval = async () =>
      (await confirmAction(
        t("Remove {name} as a friend?", { name }),
        t("You can send a new friend request at any time."),
        t("Remove friend"),
      )) && removeRelationship(context, user.id);
    return [{ ...remove(t("Remove friend")), run: confirmRemoval }, block];
  }
  if (type === BLOCKED) return [remove(t("Unblock"))];
  if (type === PENDING_INCOMING)
    return [
      { label: t("Accept"), icon: "check", style: "", run: () => addFriend(context, user.id) },
      remove(t("Decline")),
      block,
    ];
  if (type === PENDING_OUTGOING) return [remove(t("Cancel request"))];
  const sendRequest = async () =>
    (await addFriend(context, user.id)) && showNotice(t("Friend request sent to {name}.", { name }), "done");
  return user.bot ? [block] : [{ label: t("Add friend"), icon: "invite", style: "quiet", run: sendRequest }, block];
}

/** Return the buttons that change the relationship with a user; `onDone` is called after each action. */
export function relationshipButtons(context, user, onDone = () => {}) {
  return relationshipActions(context, user).map(({ label, style, run }) =>
    h(
      "button",
      {
        type: "button",
        class: `button small ${style}`,
        onclick: async () => {
          await run();
          onDone();
        },
      },
      label,
    ),
  );
}

/** Return a handler of `contextmenu` events, also from the menu key, that opens the menu of a user. */
export function memberMenuHandler(context, userId) {
  return event => {
    event.preventDefault();
    const detail = { anchor: event.currentTarget, context, userId };
    event.currentTarget.dispatchEvent(new CustomEvent("open-member-menu", { bubbles: true, detail }));
  };
}

/** Open the profile of a user; fetch the user first if they are not in the state. */
export async function openProfile(context, userId) {
  const { state, api, guildId, me } = context;
  let user = state.user(userId);
  if (user === undefined) {
    const isLoaded = await runAndReport(async () => {
      user = await api.request("GET", `/users/${userId}`);
      state.storeUser(user);
    });
    if (!isLoaded) return;
  }
  const bio = h("p", { class: "profile-bio", dir: "auto", hidden: true });
  if (!user.bot)
    api.request("GET", `/users/${userId}/profile`).then(
      profile => {
        bio.textContent = profile.bio;
        bio.hidden = !profile.bio;
      },
      () => {},
    );
  const member = state.member(guildId, userId);
  const status = state.statusOf(userId);
  const roles = (state.guilds.get(guildId)?.roles ?? [])
    .filter(role => member?.roles.includes(role.id))
    .sort((a, b) => b.position - a.position);
  const bannerPath = userBannerPath(user);
  openDialog(state.displayName(user, guildId), close => [
    bannerPath ? h("img", { class: "profile-banner", src: bannerPath, alt: "" }) : null,
    h(
      "div",
      { class: "profile-head" },
      userAvatar(user, state.displayName(user, guildId)),
      h(
        "div",
        { class: "tight" },
        h(
          "p",
          { class: "muted", dir: "auto" },
          `@${user.username}`,
          user.bot ? h("span", { class: "tag" }, t("App")) : null,
        ),
        h(
          "p",
          { class: "small" },
          statusIndicator(userId === me.id ? "online" : status),
          " ",
          userId === me.id ? t("You") : (STATUS_NAMES[status] ?? t("Offline")),
        ),
      ),
    ),
    createPart("hubbub-activity-cards", context, { userId }),
    bio,
    roles.length
      ? h(
          "ul",
          { class: "tags", "aria-label": t("Roles") },
          roles.map(role => h("li", null, role.name)),
        )
      : null,
    userId === me.id
      ? h("div", { class: "row" }, editButton(close))
      : h(
          "div",
          { class: "row" },
          h(
            "button",
            {
              type: "button",
              class: "button small",
              onclick: () => {
                close();
                openDirectMessage(context, userId);
              },
            },
            t("Send message"),
          ),
          inviteButtons(context, user),
          relationshipButtons(context, user, close),
        ),
    userCommandButtons(context, user, close),
  ]);
}

/** Return the button that opens the user's own profile in the settings. */
function editButton(close) {
  const edit = () => {
    close();
    const event = new CustomEvent("account-settings", { detail: "profile" });
    document.querySelector(".client")?.dispatchEvent(event);
  };
  return h("button", { type: "button", class: "button small quiet", onclick: edit }, t("Edit profile"));
}

/** Return a row that shows buttons for the user commands of apps as soon as they are loaded. */
function userCommandButtons(context, user, close) {
  const container = h("div", { class: "row" });
  if (context.channelId === null) return container;
  loadModule(() => import("../commands/context_menu.js"))
    .then(async module => {
      const entries = (await module?.fetchUserCommands?.(context, user)) ?? [];
      container.append(
        ...entries.map(entry =>
          h(
            "button",
            {
              type: "button",
              class: "button small quiet",
              onclick: () => {
                close();
                entry.run();
              },
            },
            entry.label,
          ),
        ),
      );
    })
    .catch(() => {});
  return container;
}
