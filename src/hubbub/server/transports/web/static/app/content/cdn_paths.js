/** Paths of media on this server. External images are not loaded, because they would reveal the reader. */

/** Return the path of a file on this server's CDN, or null for any other URL. */
export function ownPath(address, web) {
  if (!address) return null;
  let url;
  try {
    url = new URL(address, location.href);
  } catch {
    return null;
  }
  if (url.origin !== location.origin && url.origin !== new URL(web).origin) return null;
  return url.pathname.startsWith("/cdn/") ? url.pathname + url.search : null;
}

const extension = hash => (hash.startsWith("a_") ? "gif" : "png");

export const avatarPath = (user, size = 64) =>
  user.avatar ? `/cdn/avatars/${user.id}/${user.avatar}.${extension(user.avatar)}?size=${size}` : null;
export const iconPath = (guild, size = 96) =>
  guild.icon ? `/cdn/icons/${guild.id}/${guild.icon}.${extension(guild.icon)}?size=${size}` : null;
export const channelIconPath = (channel, size = 64) =>
  channel.icon ? `/cdn/channel-icons/${channel.id}/${channel.icon}.png?size=${size}` : null;
export const emojiPath = (id, animated, size = 48) => `/cdn/emojis/${id}.${animated ? "gif" : "png"}?size=${size}`;
export const stickerPath = sticker => `/cdn/stickers/${sticker.id}.${sticker.format_type === 4 ? "gif" : "png"}`;
