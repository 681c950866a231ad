/**
 * Paths of media on this server.
 *
 * External images are not loaded, because a request would reveal the user's IP address to another server.
 */

import { StickerFormatType } from "../network/enums.js";

/** Return the path of a file on this server's CDN, or null for any other URL. */
export function cdnPath(url, webUrl) {
  if (!url) return null;
  let parsed;
  try {
    parsed = new URL(url, location.href);
  } catch {
    return null;
  }
  if (parsed.origin !== location.origin && parsed.origin !== new URL(webUrl).origin) return null;
  return parsed.pathname.startsWith("/cdn/") ? parsed.pathname + parsed.search : null;
}

const extension = hash => (hash.startsWith("a_") ? "gif" : "png");

// Paths of images and sounds: null for an object that has no image. `size` is the width and height in pixels.

export const avatarPath = (user, size = 64) =>
  user.avatar ? `/cdn/avatars/${user.id}/${user.avatar}.${extension(user.avatar)}?size=${size}` : null;
export const guildIconPath = (guild, size = 96) =>
  guild.icon ? `/cdn/icons/${guild.id}/${guild.icon}.${extension(guild.icon)}?size=${size}` : null;
export const guildBannerPath = (guild, size = 512) =>
  guild.banner ? `/cdn/banners/${guild.id}/${guild.banner}.${extension(guild.banner)}?size=${size}` : null;
// The paths of banners of users and guilds have the same form.
export const userBannerPath = (user, size = 512) => guildBannerPath(user, size);
export const guildTagBadgePath = (guildId, badge, size = 96) =>
  `/cdn/guild-tag-badges/${guildId}/${badge}.png?size=${size}`;
export const eventImagePath = (event, size = 512) =>
  event.image ? `/cdn/guild-events/${event.id}/${event.image}.png?size=${size}` : null;
export const roleIconPath = (role, size = 64) =>
  role.icon ? `/cdn/role-icons/${role.id}/${role.icon}.${extension(role.icon)}?size=${size}` : null;
export const channelIconPath = (channel, size = 64) =>
  channel.icon ? `/cdn/channel-icons/${channel.id}/${channel.icon}.png?size=${size}` : null;
export const emojiPath = (id, animated, size = 48) => `/cdn/emojis/${id}.${animated ? "gif" : "png"}?size=${size}`;
export const soundPath = id => `/cdn/soundboard-sounds/${id}`;
export const stickerPath = sticker =>
  `/cdn/stickers/${sticker.id}.${sticker.format_type === StickerFormatType.GIF ? "gif" : "png"}`;
