/** One person: who they are, and what can be done. */

import { RelationshipType } from "./enums.js";
import { h } from "./dom.js";
import { faceOf, statusMark } from "./faces.js";
import { apps } from "./lazy.js";
import { notice } from "./notices.js";
import { attempt, confirmed, openDialog } from "./parts.js";
import { pathOf } from "./router.js";

const { FRIEND, BLOCKED, PENDING_INCOMING, PENDING_OUTGOING } = RelationshipType;

/** Ask to be friends, or accept. */
export function befriend({ api }, userId) {
  return attempt(() => api.request("PUT", `/users/@me/relationships/${userId}`, { json: { type: 1 } }));
}

/** End what there is: a friendship, a request, a block. */
export function unrelate({ api }, userId) {
  return attempt(() => api.request("DELETE", `/users/@me/relationships/${userId}`));
}

/** Hear no more of somebody. */
export async function block({ api }, user, name) {
  if (!(await confirmed(`Block ${name}?`, "They cannot write to you, and what they say in guilds is hidden from you.", "Block"))) return false;
  return attempt(() => api.request("PUT", `/users/@me/relationships/${user.id}`, { json: { type: 2 } }));
}

/** Open the conversation with somebody. */
export function writeTo(context, userId) {
  return attempt(async () => {
    const channel = await context.api.request("POST", "/users/@me/channels", { json: { recipient_id: userId } });
    if (!context.state.channels.has(channel.id)) context.state.apply("CHANNEL_CREATE", channel);
    context.go(pathOf(channel));
  });
}

/** The buttons for what somebody is to me. */
export function relationshipButtons(context, user, done = () => {}) {
  const { state } = context;
  const type = state.relationships.get(user.id)?.type;
  const name = state.nameOf(user, null);
  const button = (label, press, kind = "quiet") => h("button", { type: "button", class: `button small ${kind}`, onclick: async () => { await press(); done(); } }, label);
  if (type === FRIEND) {
    const end = async () => (await confirmed(`End the friendship with ${name}?`, "You can ask each other again.", "End it")) && unrelate(context, user.id);
    return [button("Remove friend", end), button("Block", () => block(context, user, name), "danger")];
  }
  if (type === BLOCKED) return [button("Unblock", () => unrelate(context, user.id))];
  if (type === PENDING_INCOMING) return [button("Accept", () => befriend(context, user.id), ""), button("Decline", () => unrelate(context, user.id)), button("Block", () => block(context, user, name), "danger")];
  if (type === PENDING_OUTGOING) return [button("Take the request back", () => unrelate(context, user.id))];
  const ask = async () => (await befriend(context, user.id)) && notice(`${name} was asked.`, "done");
  return [user.bot ? null : button("Add friend", ask), button("Block", () => block(context, user, name), "danger")].filter(Boolean);
}

/** A window about somebody. */
export async function openPerson(context, userId) {
  const { state, api, guildId, me } = context;
  let user = state.user(userId);
  if (user === undefined) {
    const found = await attempt(async () => {
      user = await api.request("GET", `/users/${userId}`);
      state.keepUser(user);
    });
    if (!found) return;
  }
  const member = state.member(guildId, userId);
  const status = state.statusOf(userId), activity = state.presences.get(userId)?.activities?.[0];
  const roles = (state.guilds.get(guildId)?.roles ?? []).filter(role => member?.roles.includes(role.id)).sort((a, b) => b.position - a.position);
  openDialog(state.nameOf(user, guildId), close => [
    h(
      "div",
      { class: "person" },
      faceOf(user, state.nameOf(user, guildId)),
      h(
        "div",
        { class: "tight" },
        h("p", { class: "soft", dir: "auto" }, `@${user.username}`, user.bot ? h("span", { class: "tag" }, "App") : null),
        h("p", { class: "small" }, statusMark(userId === me.id ? "online" : status), " ", userId === me.id ? "That is you" : status === "offline" ? "Offline" : "Here now"),
        activity ? h("p", { class: "small", dir: "auto" }, activity.type === 4 ? activity.state ?? "" : activity.name) : null,
      ),
    ),
    roles.length ? h("ul", { class: "tags", "aria-label": "Roles" }, roles.map(role => h("li", null, role.name))) : null,
    userId === me.id
      ? null
      : h("div", { class: "row" }, h("button", { type: "button", class: "button small", onclick: () => { close(); writeTo(context, userId); } }, "Write to them"), relationshipButtons(context, user, close)),
    userCommands(context, user, close),
  ]);
}

/** What apps offer to do with somebody. */
function userCommands(context, user, close) {
  const place = h("div", { class: "row" });
  if (context.channelId === null) return place;
  apps("commands")
    .then(async module => {
      const entries = (await module?.userCommands?.(context, user)) ?? [];
      place.append(...entries.map(entry => h("button", { type: "button", class: "button small quiet", onclick: () => { close(); entry.press ? entry.press() : module.runOn(entry, context, user); } }, entry.name ?? entry.label)));
    })
    .catch(() => {});
  return place;
}
