/** Labels and explanations of the permissions, in the groups of the role editor. */

import { Permissions } from "../../network/enums.js";
import { t } from "../../ui/translation.js";

/** Groups by title; each permission has its bit, label and explanation. @type {[string, [bigint, string, string][]][]} */
export const PERMISSION_GROUPS = [
  [
    t("General"),
    [
      [Permissions.VIEW_CHANNEL, t("View channels"), t("See channels and read them.")],
      [Permissions.MANAGE_CHANNELS, t("Manage channels"), t("Create, edit and delete channels.")],
      [Permissions.MANAGE_ROLES, t("Manage roles"), t("Create, edit and assign roles below their own highest role.")],
      [
        Permissions.CREATE_GUILD_EXPRESSIONS,
        t("Create expressions"),
        t("Add emoji, stickers and sounds, and manage their own."),
      ],
      [
        Permissions.MANAGE_GUILD_EXPRESSIONS,
        t("Manage expressions"),
        t("Edit and delete everyone's emoji, stickers and sounds."),
      ],
      [Permissions.VIEW_AUDIT_LOG, t("View audit log"), t("See who changed what.")],
      [Permissions.VIEW_GUILD_INSIGHTS, t("View insights"), t("See statistics of the guild.")],
      [
        Permissions.VIEW_CREATOR_MONETIZATION_ANALYTICS,
        t("View subscription insights"),
        t("See statistics on role subscriptions."),
      ],
      [Permissions.MANAGE_WEBHOOKS, t("Manage webhooks"), t("Create, edit and delete webhooks.")],
      [
        Permissions.MANAGE_GUILD,
        t("Manage guild"),
        t("Edit the guild's name and settings, add apps, and see and revoke all invites."),
      ],
    ],
  ],
  [
    t("Members"),
    [
      [Permissions.CREATE_INSTANT_INVITE, t("Create invites"), t("Invite people to the guild.")],
      [Permissions.CHANGE_NICKNAME, t("Change nickname"), t("Change their own nickname.")],
      [Permissions.MANAGE_NICKNAMES, t("Manage nicknames"), t("Change other members' nicknames.")],
      [Permissions.KICK_MEMBERS, t("Kick members"), t("Remove members. They can join again with an invite.")],
      [Permissions.BAN_MEMBERS, t("Ban members"), t("Remove members and keep them out, and lift bans.")],
      [Permissions.MODERATE_MEMBERS, t("Time out members"), t("Stop members from writing and speaking for a while.")],
    ],
  ],
  [
    t("Text channels"),
    [
      [Permissions.SEND_MESSAGES, t("Send messages"), t("Write in text channels and create posts in forums.")],
      [Permissions.SEND_MESSAGES_IN_THREADS, t("Send messages in threads"), t("Write in threads and posts.")],
      [
        Permissions.CREATE_PUBLIC_THREADS,
        t("Create public threads"),
        t("Start threads that everyone in the channel can see."),
      ],
      [Permissions.CREATE_PRIVATE_THREADS, t("Create private threads"), t("Start threads for invited members only.")],
      [Permissions.EMBED_LINKS, t("Embed links"), t("Show previews of links.")],
      [Permissions.ATTACH_FILES, t("Attach files"), t("Upload files and images.")],
      [Permissions.ADD_REACTIONS, t("Add reactions"), t("Add new reactions to messages.")],
      [Permissions.USE_EXTERNAL_EMOJIS, t("Use external emoji"), t("Use emoji of other guilds.")],
      [Permissions.USE_EXTERNAL_STICKERS, t("Use external stickers"), t("Use stickers of other guilds.")],
      [Permissions.MENTION_EVERYONE, t("Mention everyone"), t("Notify everyone with @everyone, @here or any role.")],
      [Permissions.MANAGE_MESSAGES, t("Manage messages"), t("Delete other members' messages and reactions.")],
      [Permissions.PIN_MESSAGES, t("Pin messages"), t("Pin and unpin messages.")],
      [Permissions.BYPASS_SLOWMODE, t("Bypass slow mode"), t("Write without waiting in channels with slow mode.")],
      [Permissions.MANAGE_THREADS, t("Manage threads"), t("Edit, close and delete threads, and see private ones.")],
      [
        Permissions.READ_MESSAGE_HISTORY,
        t("Read message history"),
        t("Read messages sent before they opened the channel."),
      ],
      [Permissions.SEND_TTS_MESSAGES, t("Send text-to-speech messages"), t("Send messages that are read aloud.")],
      [Permissions.SEND_VOICE_MESSAGES, t("Send voice messages"), t("Record and send voice messages.")],
      [Permissions.SEND_POLLS, t("Create polls"), t("Ask the channel to vote.")],
    ],
  ],
  [
    t("Voice channels"),
    [
      [Permissions.CONNECT, t("Connect"), t("Join voice channels.")],
      [Permissions.SPEAK, t("Speak"), t("Talk in voice channels.")],
      [Permissions.STREAM, t("Video"), t("Share their camera or screen.")],
      [Permissions.USE_SOUNDBOARD, t("Use soundboard"), t("Play sounds of the guild.")],
      [Permissions.USE_EXTERNAL_SOUNDS, t("Use external sounds"), t("Play sounds of other guilds.")],
      [Permissions.USE_VAD, t("Use voice activity"), t("Talk without push-to-talk.")],
      [Permissions.PRIORITY_SPEAKER, t("Priority speaker"), t("Speak louder than others.")],
      [Permissions.MUTE_MEMBERS, t("Mute members"), t("Mute others, and manage speakers on a stage.")],
      [Permissions.DEAFEN_MEMBERS, t("Deafen members"), t("Stop others from hearing.")],
      [Permissions.MOVE_MEMBERS, t("Move members"), t("Move others between voice channels or disconnect them.")],
      [Permissions.SET_VOICE_CHANNEL_STATUS, t("Set channel status"), t("Set the status of voice channels.")],
      [Permissions.REQUEST_TO_SPEAK, t("Request to speak"), t("Ask to speak on a stage.")],
    ],
  ],
  [
    t("Apps and events"),
    [
      [Permissions.USE_APPLICATION_COMMANDS, t("Use app commands"), t("Use commands of apps.")],
      [Permissions.USE_EMBEDDED_ACTIVITIES, t("Use activities"), t("Start activities.")],
      [
        Permissions.USE_EXTERNAL_APPS,
        t("Use external apps"),
        t("Let their own apps post responses that everyone can see."),
      ],
      [Permissions.CREATE_EVENTS, t("Create events"), t("Schedule events, and manage their own.")],
      [Permissions.MANAGE_EVENTS, t("Manage events"), t("Edit and cancel everyone's events.")],
    ],
  ],
  [
    t("Advanced"),
    [
      [
        Permissions.ADMINISTRATOR,
        t("Administrator"),
        t("Have every permission in every channel. Give it only to people you trust."),
      ],
    ],
  ],
];

/** Labels by permission bit. @type {Map<bigint, string>} */
export const PERMISSION_LABELS = new Map(
  PERMISSION_GROUPS.flatMap(([, permissions]) => permissions.map(([bit, label]) => [bit, label])),
);
