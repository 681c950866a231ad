/** Enums and flags of the wire protocol, and predicates on channel types. */

import { ChannelType } from "../generated/enums.js";

export {
  ActivityType,
  AttachmentFlags,
  ChannelFlags,
  ChannelType,
  DefaultMessageNotifications,
  GatewayOpcode as Opcode,
  MessageFlags,
  MessageReferenceType,
  MessageType,
  RelationshipType,
  StickerFormatType,
  VerificationLevel,
} from "../generated/enums.js";
export { Permissions } from "../generated/permissions.js";

const { ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD, DM, GROUP_DM, EPHEMERAL_DM } = ChannelType;
const THREAD_TYPES = new Set([ANNOUNCEMENT_THREAD, PUBLIC_THREAD, PRIVATE_THREAD]);
const PRIVATE_TYPES = new Set([DM, GROUP_DM, EPHEMERAL_DM]);

export const isThread = channel => THREAD_TYPES.has(channel.type);
/** Return whether a channel is a direct message or a group. */
export const isPrivate = channel => PRIVATE_TYPES.has(channel.type);
/** Return whether a channel is a voice channel or a stage channel. */
export const isVoice = channel =>
  channel.type === ChannelType.GUILD_VOICE || channel.type === ChannelType.GUILD_STAGE_VOICE;
/** Return whether a channel can be linked to a lobby of a game, whose call it shows then. */
export const isLinkable = channel => channel.type === ChannelType.GUILD_TEXT;
/** Return whether a channel is a forum or a media channel. */
export const isForum = channel => channel.type === ChannelType.GUILD_FORUM || channel.type === ChannelType.GUILD_MEDIA;
/** Return whether threads can be created from messages of a channel. Forums are excluded: all their posts are threads. */
export const canStartThreads = channel =>
  channel.type === ChannelType.GUILD_TEXT || channel.type === ChannelType.GUILD_ANNOUNCEMENT;
/** Return whether a channel contains messages. */
export const isMessageable = channel =>
  channel.type !== ChannelType.GUILD_CATEGORY && channel.type !== ChannelType.GUILD_DIRECTORY && !isForum(channel);
