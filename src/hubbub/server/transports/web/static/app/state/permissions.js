/** Permission computation (spec/http.md#2), for showing and hiding controls. The server enforces permissions. */

import { OverwriteType } from "../generated/enums.js";
import {
  ALL_PERMISSIONS,
  DEPENDENT_ON_SEND_MESSAGES,
  Permissions,
  TIMED_OUT_PERMISSIONS,
} from "../generated/permissions.js";
import { isPrivate, isThread, isVoice } from "../network/enums.js";
import { platformNow } from "../network/platform_clock.js";

/** Permissions that every participant has in a private channel. */
const PRIVATE_CHANNEL_PERMISSIONS =
  Permissions.VIEW_CHANNEL |
  Permissions.SEND_MESSAGES |
  Permissions.EMBED_LINKS |
  Permissions.ATTACH_FILES |
  Permissions.READ_MESSAGE_HISTORY |
  Permissions.ADD_REACTIONS |
  Permissions.PIN_MESSAGES |
  Permissions.CONNECT |
  Permissions.SPEAK |
  Permissions.USE_APPLICATION_COMMANDS |
  Permissions.SEND_POLLS |
  Permissions.USE_EMBEDDED_ACTIVITIES;

/** Return a member's permissions in the guild, without channel overwrites. */
export function guildPermissions(guild, member) {
  if (guild.owner_id === member.user.id) return ALL_PERMISSIONS;
  const roleIds = new Set([guild.id, ...member.roles]);
  let bits = 0n;
  for (const role of guild.roles) if (roleIds.has(role.id)) bits |= BigInt(role.permissions);
  return bits & Permissions.ADMINISTRATOR ? ALL_PERMISSIONS : bits;
}

/**
 * Return a member's permissions in a channel.
 *
 * @param {any} guild
 * @param {any} member
 * @param {any} channel
 * @param {any} [parent] the parent channel of a thread, whose overwrites apply; without it, a thread has no permissions
 */
export function channelPermissions(guild, member, channel, parent) {
  if (isPrivate(channel)) return PRIVATE_CHANNEL_PERMISSIONS;
  const base = guildPermissions(guild, member);
  if (base === ALL_PERMISSIONS) return ALL_PERMISSIONS;
  const permissionSource = isThread(channel) ? parent : channel;
  if (!permissionSource) return 0n;
  let bits = applyOverwrites(base, permissionSource.permission_overwrites ?? [], guild.id, member);
  // In a thread, SEND_MESSAGES has the value of SEND_MESSAGES_IN_THREADS.
  if (isThread(channel)) {
    bits =
      bits & Permissions.SEND_MESSAGES_IN_THREADS
        ? bits | Permissions.SEND_MESSAGES
        : bits & ~Permissions.SEND_MESSAGES;
  }
  if (member.communication_disabled_until && Date.parse(member.communication_disabled_until) > platformNow())
    bits &= TIMED_OUT_PERMISSIONS;
  if (!(bits & Permissions.VIEW_CHANNEL) || (isVoice(permissionSource) && !(bits & Permissions.CONNECT))) {
    return bits & Permissions.VIEW_CHANNEL;
  }
  if (!(bits & Permissions.SEND_MESSAGES)) bits &= ~DEPENDENT_ON_SEND_MESSAGES;
  return bits;
}

/** Return the permissions after the overwrites, in their order: @everyone (whose ID is the guild's), roles, member. */
function applyOverwrites(base, overwrites, guildId, member) {
  let bits = base,
    allow = 0n,
    deny = 0n;
  const everyoneOverwrite = overwrites.find(overwrite => overwrite.id === guildId);
  if (everyoneOverwrite) bits = (bits & ~BigInt(everyoneOverwrite.deny)) | BigInt(everyoneOverwrite.allow);
  for (const overwrite of overwrites) {
    if (overwrite.id === guildId || !member.roles.includes(overwrite.id)) continue;
    allow |= BigInt(overwrite.allow);
    deny |= BigInt(overwrite.deny);
  }
  bits = (bits & ~deny) | allow;
  const memberOverwrite = overwrites.find(
    overwrite => overwrite.id === member.user.id && Number(overwrite.type) === OverwriteType.MEMBER,
  );
  return memberOverwrite ? (bits & ~BigInt(memberOverwrite.deny)) | BigInt(memberOverwrite.allow) : bits;
}
