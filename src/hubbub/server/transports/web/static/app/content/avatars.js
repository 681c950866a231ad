/** Avatars, icons, presence indicators and channel titles. */

import { ChannelType } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { t } from "../ui/translation.js";
import { avatarPath, channelIconPath, guildIconPath } from "./cdn_paths.js";

/** Return the one or two characters shown in place of a missing image. */
export function initials(name) {
  const words = name.split(/\s+/u).filter(word => /^[\p{L}\p{N}]/u.test(word));
  const characters = words
    .slice(0, 2)
    .map(word => [...word][0])
    .join("");
  return (characters || [...name.trim()][0] || "?").toUpperCase();
}

/** Number of placeholder colors in the style sheet. */
const COLOR_COUNT = 6n;

/** Return the index of the placeholder color of an ID. */
export const colorIndex = id => Number(((BigInt(id) >> 22n) + BigInt(id)) % COLOR_COUNT);

function avatar(id, name, path, shape) {
  return h(
    "span",
    { class: `avatar hue-${colorIndex(id)} ${shape}`, "aria-hidden": "true" },
    path === null ? initials(name) : h("img", { src: path, alt: "", loading: "lazy", draggable: "false" }),
  );
}

/** Return the avatar of a user; `status` adds a presence indicator. */
export function userAvatar(user, name, status) {
  const image = avatar(user.id ?? "0", name, avatarPath(user), "");
  if (status === undefined) return image;
  return h("span", { class: "avatar-with-status" }, image, statusIndicator(status));
}

/** Return the icon of a guild, or its initials if it has none. A guild that has not arrived yet has an empty icon. */
export const guildIcon = guild =>
  guild.name === undefined
    ? h("span", { class: "avatar square unloaded", "aria-hidden": "true" })
    : avatar(guild.id, guild.name, guildIconPath(guild), "square");

/** Return the icon of a group, the avatar of the other user, or initials if the other user is unknown. */
export function conversationIcon(channel, title, status) {
  if (channel.type === ChannelType.GROUP_DM) return avatar(channel.id, title, channelIconPath(channel), "square");
  const otherUser = channel.recipients?.[0];
  return otherUser === undefined ? avatar(channel.id, title, null, "") : userAvatar(otherUser, title, status);
}

const STATUS_LABELS = { online: t("online"), idle: t("idle"), dnd: t("do not disturb"), offline: t("offline") };

/** Return a presence indicator. Each status has its own shape, for users who cannot distinguish the colors. */
export function statusIndicator(status) {
  const knownStatus = STATUS_LABELS[status] === undefined ? "offline" : status;
  return h("span", {
    class: `status ${knownStatus}`,
    role: "img",
    "aria-label": STATUS_LABELS[knownStatus],
    title: STATUS_LABELS[knownStatus],
  });
}

/** Return the name of a channel; private channels without a name have the names of their recipients. */
export function channelTitle(channel, state) {
  if (channel.name) return channel.name;
  const names = (channel.recipients ?? []).map(recipient => state.displayName(recipient, null));
  return names.join(", ") || t("Empty group");
}

const ICON_NAMES = new Map([
  [ChannelType.GUILD_VOICE, "voice"],
  [ChannelType.GUILD_STAGE_VOICE, "voice"],
  [ChannelType.GUILD_FORUM, "forum"],
  [ChannelType.GUILD_MEDIA, "forum"],
  [ChannelType.GUILD_ANNOUNCEMENT, "megaphone"],
  [ChannelType.PUBLIC_THREAD, "thread"],
  [ChannelType.PRIVATE_THREAD, "thread"],
  [ChannelType.ANNOUNCEMENT_THREAD, "thread"],
  [ChannelType.GROUP_DM, "people"],
]);

/** Return the name of the icon for a channel's type. */
export const channelIconName = channel => ICON_NAMES.get(channel.type) ?? "hash";
