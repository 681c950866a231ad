/** Pictures of people, guilds and conversations, and what stands in their place. */

import { ChannelType } from "./enums.js";
import { h } from "./dom.js";
import { avatarPath, channelIconPath, iconPath } from "./media.js";

/** At most two letters for somebody without a picture. */
export function initials(name) {
  const words = name.split(/\s+/u).filter(word => /^[\p{L}\p{N}]/u.test(word));
  const letters = words.slice(0, 2).map(word => [...word][0]).join("");
  return (letters || [...name.trim()][0] || "?").toUpperCase();
}

/** One of six colours, always the same for the same id. */
export const hue = id => Number(((BigInt(id) >> 22n) + BigInt(id)) % 6n);

function face(id, name, path, kind) {
  return h(
    "span",
    { class: `face hue-${hue(id)} ${kind}`, "aria-hidden": "true" },
    path === null ? initials(name) : h("img", { src: path, alt: "", loading: "lazy", draggable: "false" }),
  );
}

/** Somebody; `status` adds the mark of their presence. */
export function faceOf(user, name, status) {
  const made = face(user.id ?? "0", name, avatarPath(user), "");
  if (status === undefined) return made;
  return h("span", { class: "face-with-status" }, made, statusMark(status));
}

export const faceOfGuild = guild => face(guild.id, guild.name ?? "?", iconPath(guild), "square");

/** A conversation: the other one's picture, or the group's. */
export function faceOfConversation(channel, title, status) {
  if (channel.type === ChannelType.GROUP_DM) return face(channel.id, title, channelIconPath(channel), "square");
  const other = channel.recipients?.[0];
  return other === undefined ? face(channel.id, title, null, "") : faceOf(other, title, status);
}

const WORDS = { online: "online", idle: "away", dnd: "do not disturb", offline: "offline" };

/** The mark of a presence, told by its shape too. */
export function statusMark(status) {
  const kind = WORDS[status] === undefined ? "offline" : status;
  return h("span", { class: `status ${kind}`, role: "img", "aria-label": WORDS[kind], title: WORDS[kind] });
}

/** What a channel is called. */
export function titleOf(channel, state) {
  if (channel.name) return channel.name;
  const names = (channel.recipients ?? []).map(each => state.nameOf(each, null));
  return names.join(", ") || "Nobody else";
}

const ICONS = new Map([
  [ChannelType.GUILD_VOICE, "voice"], [ChannelType.GUILD_STAGE_VOICE, "voice"], [ChannelType.GUILD_FORUM, "forum"],
  [ChannelType.GUILD_MEDIA, "forum"], [ChannelType.GUILD_ANNOUNCEMENT, "megaphone"], [ChannelType.PUBLIC_THREAD, "thread"],
  [ChannelType.PRIVATE_THREAD, "thread"], [ChannelType.ANNOUNCEMENT_THREAD, "thread"], [ChannelType.GROUP_DM, "people"],
]);

/** The name of a channel's icon. */
export const iconOf = channel => ICONS.get(channel.type) ?? "hash";
