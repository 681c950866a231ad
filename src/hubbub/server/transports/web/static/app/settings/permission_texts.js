/** Labels and explanations of the permissions, in the groups of the role editor. */

import { Permissions as P } from "../network/enums.js";

/** @type {[string, [bigint, string, string][]][]} */
export const PERMISSION_GROUPS = [
  [
    "General",
    [
      [P.VIEW_CHANNEL, "View channels", "See channels and read them."],
      [P.MANAGE_CHANNELS, "Manage channels", "Create, edit and delete channels."],
      [P.MANAGE_ROLES, "Manage roles", "Create, edit and assign roles below their own highest role."],
      [P.CREATE_GUILD_EXPRESSIONS, "Create expressions", "Add emoji, stickers and sounds, and manage their own."],
      [P.MANAGE_GUILD_EXPRESSIONS, "Manage expressions", "Edit and delete everyone's emoji, stickers and sounds."],
      [P.VIEW_AUDIT_LOG, "View audit log", "See who changed what."],
      [P.VIEW_GUILD_INSIGHTS, "View insights", "See statistics of the guild."],
      [P.VIEW_CREATOR_MONETIZATION_ANALYTICS, "View subscription insights", "See statistics on role subscriptions."],
      [P.MANAGE_WEBHOOKS, "Manage webhooks", "Create, edit and delete webhooks."],
      [P.MANAGE_GUILD, "Manage guild", "Edit the guild's name and settings, add apps, and see and revoke all invites."],
    ],
  ],
  [
    "Members",
    [
      [P.CREATE_INSTANT_INVITE, "Create invites", "Invite people to the guild."],
      [P.CHANGE_NICKNAME, "Change nickname", "Change their own nickname."],
      [P.MANAGE_NICKNAMES, "Manage nicknames", "Change other members' nicknames."],
      [P.KICK_MEMBERS, "Kick members", "Remove members. They can join again with an invite."],
      [P.BAN_MEMBERS, "Ban members", "Remove members and keep them out, and lift bans."],
      [P.MODERATE_MEMBERS, "Time out members", "Stop members from writing and speaking for a while."],
    ],
  ],
  [
    "Text channels",
    [
      [P.SEND_MESSAGES, "Send messages", "Write in text channels and create posts in forums."],
      [P.SEND_MESSAGES_IN_THREADS, "Send messages in threads", "Write in threads and posts."],
      [P.CREATE_PUBLIC_THREADS, "Create public threads", "Start threads that everyone in the channel can see."],
      [P.CREATE_PRIVATE_THREADS, "Create private threads", "Start threads for invited members only."],
      [P.EMBED_LINKS, "Embed links", "Show previews of links."],
      [P.ATTACH_FILES, "Attach files", "Upload files and images."],
      [P.ADD_REACTIONS, "Add reactions", "Add new reactions to messages."],
      [P.USE_EXTERNAL_EMOJIS, "Use external emoji", "Use emoji of other guilds."],
      [P.USE_EXTERNAL_STICKERS, "Use external stickers", "Use stickers of other guilds."],
      [P.MENTION_EVERYONE, "Mention everyone", "Notify everyone with @everyone, @here or any role."],
      [P.MANAGE_MESSAGES, "Manage messages", "Delete other members' messages and reactions."],
      [P.PIN_MESSAGES, "Pin messages", "Pin and unpin messages."],
      [P.BYPASS_SLOWMODE, "Bypass slow mode", "Write without waiting in channels with slow mode."],
      [P.MANAGE_THREADS, "Manage threads", "Edit, close and delete threads, and see private ones."],
      [P.READ_MESSAGE_HISTORY, "Read message history", "Read messages sent before they opened the channel."],
      [P.SEND_TTS_MESSAGES, "Send text-to-speech messages", "Send messages that are read aloud."],
      [P.SEND_VOICE_MESSAGES, "Send voice messages", "Record and send voice messages."],
      [P.SEND_POLLS, "Create polls", "Ask the channel to vote."],
    ],
  ],
  [
    "Voice channels",
    [
      [P.CONNECT, "Connect", "Join voice channels."],
      [P.SPEAK, "Speak", "Talk in voice channels."],
      [P.STREAM, "Video", "Share their camera or screen."],
      [P.USE_SOUNDBOARD, "Use soundboard", "Play sounds of the guild."],
      [P.USE_EXTERNAL_SOUNDS, "Use external sounds", "Play sounds of other guilds."],
      [P.USE_VAD, "Use voice activity", "Talk without push-to-talk."],
      [P.PRIORITY_SPEAKER, "Priority speaker", "Speak louder than others."],
      [P.MUTE_MEMBERS, "Mute members", "Mute others, and manage speakers on a stage."],
      [P.DEAFEN_MEMBERS, "Deafen members", "Stop others from hearing."],
      [P.MOVE_MEMBERS, "Move members", "Move others between voice channels or disconnect them."],
      [P.SET_VOICE_CHANNEL_STATUS, "Set channel status", "Set the status of voice channels."],
      [P.REQUEST_TO_SPEAK, "Request to speak", "Ask to speak on a stage."],
    ],
  ],
  [
    "Apps and events",
    [
      [P.USE_APPLICATION_COMMANDS, "Use app commands", "Use commands of apps."],
      [P.USE_EMBEDDED_ACTIVITIES, "Use activities", "Start activities."],
      [P.USE_EXTERNAL_APPS, "Use external apps", "Let their own apps post responses that everyone can see."],
      [P.CREATE_EVENTS, "Create events", "Schedule events, and manage their own."],
      [P.MANAGE_EVENTS, "Manage events", "Edit and cancel everyone's events."],
    ],
  ],
  [
    "Advanced",
    [[P.ADMINISTRATOR, "Administrator", "Have every permission in every channel. Give it only to people you trust."]],
  ],
];

/** Labels by permission bit. @type {Map<bigint, string>} */
export const PERMISSION_LABELS = new Map(
  PERMISSION_GROUPS.flatMap(([, permissions]) => permissions.map(([bit, label]) => [bit, label])),
);
