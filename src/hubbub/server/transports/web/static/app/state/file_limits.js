/** The largest file that the user can send in a channel. */

import { ATTACHMENT_BYTES_MAX_BY_PREMIUM, ATTACHMENT_BYTES_MAX_BY_TIER } from "../generated/limits.js";

/**
 * Return the maximum size in bytes: the operator's limit, raised by the tier of the guild and the premium of the user,
 * up to the limit of uploads.
 */
export function fileBytesMax({ state, guildId, me }) {
  const { dataset } = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=hubbub-client]"));
  const tier = Math.min(state.guilds.get(guildId)?.premium_tier ?? 0, ATTACHMENT_BYTES_MAX_BY_TIER.length - 1);
  const guildMax = tier > 1 ? ATTACHMENT_BYTES_MAX_BY_TIER[tier] : 0;
  const premiumMax = ATTACHMENT_BYTES_MAX_BY_PREMIUM[me.premium_type] ?? 0;
  return Math.min(Math.max(Number(dataset.fileBytesMax), guildMax, premiumMax), Number(dataset.uploadBytesMax));
}
