/** The user's access to a guild: permissions, roles, and the reasons why actions are not allowed. */

import { compareIds } from "../../network/ids.js";
import { Permissions } from "../../network/enums.js";
import { guildPermissions } from "../../state/permissions.js";
import { t } from "../../ui/translation.js";
import { PERMISSION_LABELS } from "./texts.js";

/** Snapshot of the user's access to a guild. It does not follow changes: create a new object after each change. */
export class GuildAccess {
  #roles = null;

  constructor({ state }, guildId) {
    this.state = state;
    this.guild = state.guilds.get(guildId);
    this.me = state.me;
    this.member = state.member(guildId, state.me.id);
    this.permissions = state.permissionsInGuild(guildId);
  }

  get isOwner() {
    return this.guild?.owner_id === this.me.id;
  }

  hasPermissions(bits) {
    return (this.permissions & bits) === bits;
  }

  /** Return null if the user has a permission, or a sentence that names the missing one. */
  findDenialReason(permission) {
    if (this.hasPermissions(permission)) return null;
    return t("You need the permission “{name}”.", { name: PERMISSION_LABELS.get(permission) });
  }

  /** Return null if the user has a permission in a channel, or a sentence that names the missing one. */
  findChannelDenialReason(permission, channelId) {
    if (this.state.can(channelId, permission)) return null;
    return t("You need the permission “{name}” in this channel.", { name: PERMISSION_LABELS.get(permission) });
  }

  /** Return null if the user may use a permission on a member, or the reason. The member must be below the user. */
  findMemberDenialReason(permission, member) {
    const denialReason = this.findDenialReason(permission);
    if (denialReason !== null) return denialReason;
    if (member.user.id === this.me.id) return t("You cannot do this to yourself.");
    if (member.user.id === this.guild.owner_id) return t("The owner of the guild cannot be changed by others.");
    if (!this.isOwner && !outranks(this.#topRole(this.member), this.#topRole(member)))
      return t("This member's highest role is not below yours.");
    return null;
  }

  /** Return null if the user may change the nickname of a member, or the reason. */
  findRenameDenialReason(member) {
    if (member.user.id !== this.me.id) return this.findMemberDenialReason(Permissions.MANAGE_NICKNAMES, member);
    return this.hasPermissions(Permissions.MANAGE_NICKNAMES)
      ? null
      : this.findDenialReason(Permissions.CHANGE_NICKNAME);
  }

  /** Return null if the user may time out a member, or the reason. */
  findTimeoutDenialReason(member) {
    if (guildPermissions(this.guild, member) & Permissions.ADMINISTRATOR && member.user.id !== this.guild.owner_id)
      return t("Administrators cannot be timed out.");
    return this.findMemberDenialReason(Permissions.MODERATE_MEMBERS, member);
  }

  /** Return null if the user may edit or assign a role, or the reason. */
  findRoleDenialReason(role) {
    const denialReason = this.findDenialReason(Permissions.MANAGE_ROLES);
    if (denialReason !== null) return denialReason;
    if (this.isOwner || outranks(this.#topRole(this.member), role)) return null;
    return t("This role is not below your highest role.");
  }

  /** Roles from the highest to the lowest, without @everyone. */
  get roles() {
    this.#roles ??= this.guild.roles
      .filter(role => role.id !== this.guild.id)
      .sort((a, b) => (outranks(a, b) ? -1 : 1));
    return this.#roles;
  }

  /** The role that every member has. */
  get everyoneRole() {
    return this.guild.roles.find(role => role.id === this.guild.id);
  }

  #topRole(member) {
    return this.roles.find(role => member.roles.includes(role.id)) ?? this.everyoneRole;
  }
}

/** Return whether a role is above another; of two roles at one position, the older is above. */
function outranks(role, other) {
  return role.position === other.position ? compareIds(role.id, other.id) < 0 : role.position > other.position;
}
