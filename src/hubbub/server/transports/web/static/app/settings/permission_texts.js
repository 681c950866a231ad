/** Labels and explanations of the permissions, in the groups of the role editor. */

import { Permissions } from "../network/enums.js";

/** Groups by title; each permission has its bit, label and explanation. @type {[string, [bigint, string, string][]][]} */
export const PERMISSION_GROUPS = [
  [
    "General",
    [
      [Permissions.VIEW_CHANNEL, "View channels", "See channels and read them."],
      [Permissions.MANAGE_CHANNELS, "Manage channels", "Create, edit and delete channels."],
      [Permissions.MANAGE_ROLES, "Manage roles", "Create, edit and assign roles below their own highest role."],
      [
        Permissions.CREATE_GUILD_EXPRESSIONS,
        "Create expressions",
        "Add emoji, stickers and sounds, and manage their own.",
      ],
      [
        Permissions.MANAGE_GUILD_EXPRESSIONS,
        "Manage expressions",
        "Edit and delete everyone's emoji, stickers and sounds.",
      ],
      [Permissions.VIEW_AUDIT_LOG, "View audit log", "See who changed what."],
      [Permissions.VIEW_GUILD_INSIGHTS, "View insights", "See statistics of the guild."],
      [
        Permissions.VIEW_CREATOR_MONETIZATION_ANALYTICS,
        "View subscription insights",
        "See statistics on role subscriptions.",
      ],
      [Permissions.MANAGE_WEBHOOKS, "Manage webhooks", "Create, edit and delete webhooks."],
      [
        Permissions.MANAGE_GUILD,
        "Manage guild",
        "Edit the guild's name and settings, add apps, and see and revoke all invites.",
      ],
    ],
  ],
  [
    "Members",
    [
      [Permissions.CREATE_INSTANT_INVITE, "Create invites", "Invite people to the guild."],
      [Permissions.CHANGE_NICKNAME, "Change nickname", "Change their own nickname."],
      [Permissions.MANAGE_NICKNAMES, "Manage nicknames", "Change other members' nicknames."],
      [Permissions.KICK_MEMBERS, "Kick members", "Remove members. They can join again with an invite."],
      [Permissions.BAN_MEMBERS, "Ban members", "Remove members and keep them out, and lift bans."],
      [Permissions.MODERATE_MEMBERS, "Time out members", "Stop members from writing and speaking for a while."],
    ],
  ],
  [
    "Text channels",
    [
      [Permissions.SEND_MESSAGES, "Send messages", "Write in text channels and create posts in forums."],
      [Permissions.SEND_MESSAGES_IN_THREADS, "Send messages in threads", "Write in threads and posts."],
      [
        Permissions.CREATE_PUBLIC_THREADS,
        "Create public threads",
        "Start threads that everyone in the channel can see.",
      ],
      [Permissions.CREATE_PRIVATE_THREADS, "Create private threads", "Start threads for invited members only."],
      [Permissions.EMBED_LINKS, "Embed links", "Show previews of links."],
      [Permissions.ATTACH_FILES, "Attach files", "Upload files and images."],
      [Permissions.ADD_REACTIONS, "Add reactions", "Add new reactions to messages."],
      [Permissions.USE_EXTERNAL_EMOJIS, "Use external emoji", "Use emoji of other guilds."],
      [Permissions.USE_EXTERNAL_STICKERS, "Use external stickers", "Use stickers of other guilds."],
      [Permissions.MENTION_EVERYONE, "Mention everyone", "Notify everyone with @everyone, @here or any role."],
      [Permissions.MANAGE_MESSAGES, "Manage messages", "Delete other members' messages and reactions."],
      [Permissions.PIN_MESSAGES, "Pin messages", "Pin and unpin messages."],
      [Permissions.BYPASS_SLOWMODE, "Bypass slow mode", "Write without waiting in channels with slow mode."],
      [Permissions.MANAGE_THREADS, "Manage threads", "Edit, close and delete threads, and see private ones."],
      [Permissions.READ_MESSAGE_HISTORY, "Read message history", "Read messages sent before they opened the channel."],
      [Permissions.SEND_TTS_MESSAGES, "Send text-to-speech messages", "Send messages that are read aloud."],
      [Permissions.SEND_VOICE_MESSAGES, "Send voice messages", "Record and send voice messages."],
      [Permissions.SEND_POLLS, "Create polls", "Ask the channel to vote."],
    ],
  ],
  [
    "Voice channels",
    [
      [Permissions.CONNECT, "Connect", "Join voice channels."],
      [Permissions.SPEAK, "Speak", "Talk in voice channels."],
      [Permissions.STREAM, "Video", "Share their camera or screen."],
      [Permissions.USE_SOUNDBOARD, "Use soundboard", "Play sounds of the guild."],
      [Permissions.USE_EXTERNAL_SOUNDS, "Use external sounds", "Play sounds of other guilds."],
      [Permissions.USE_VAD, "Use voice activity", "Talk without push-to-talk."],
      [Permissions.PRIORITY_SPEAKER, "Priority speaker", "Speak louder than others."],
      [Permissions.MUTE_MEMBERS, "Mute members", "Mute others, and manage speakers on a stage."],
      [Permissions.DEAFEN_MEMBERS, "Deafen members", "Stop others from hearing."],
      [Permissions.MOVE_MEMBERS, "Move members", "Move others between voice channels or disconnect them."],
      [Permissions.SET_VOICE_CHANNEL_STATUS, "Set channel status", "Set the status of voice channels."],
      [Permissions.REQUEST_TO_SPEAK, "Request to speak", "Ask to speak on a stage."],
    ],
  ],
  [
    "Apps and events",
    [
      [Permissions.USE_APPLICATION_COMMANDS, "Use app commands", "Use commands of apps."],
      [Permissions.USE_EMBEDDED_ACTIVITIES, "Use activities", "Start activities."],
      [Permissions.USE_EXTERNAL_APPS, "Use external apps", "Let their own apps post responses that everyone can see."],
      [Permissions.CREATE_EVENTS, "Create events", "Schedule events, and manage their own."],
      [Permissions.MANAGE_EVENTS, "Manage events", "Edit and cancel everyone's events."],
    ],
  ],
  [
    "Advanced",
    [
      [
        Permissions.ADMINISTRATOR,
        "Administrator",
        "Have every permission in every channel. Give it only to people you trust.",
      ],
    ],
  ],
];

/** Labels by permission bit. @type {Map<bigint, string>} */
export const PERMISSION_LABELS = new Map(
  PERMISSION_GROUPS.flatMap(([, permissions]) => permissions.map(([bit, label]) => [bit, label])),
);
