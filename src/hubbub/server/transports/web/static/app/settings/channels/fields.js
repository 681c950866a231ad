/** The fields of a channel by its type, and labels of the channel types. */

import {
  BITRATE_MAX_BY_TIER,
  BITRATE_MIN,
  CHANNEL_NAME_MAX,
  FORUM_TOPIC_MAX,
  STAGE_BITRATE_MAX,
  STAGE_USER_LIMIT_MAX,
  TOPIC_MAX,
  VOICE_USER_LIMIT_MAX,
} from "../../generated/limits.js";
import { ForumLayout, VideoQualityMode } from "../../generated/enums.js";
import { ChannelFlags, ChannelType, isForum, isVoice } from "../../network/enums.js";
import { formField } from "../../ui/controls.js";
import { h } from "../../ui/dom.js";
import { t } from "../../ui/translation.js";
import { choiceSetting, numberSetting, showFieldNotice, switchSetting, textSetting } from "../forms/fields.js";

/** Step of the bitrate slider in bits per second. */
const BITRATE_STEP = 8_000;

/** Channel types that can be created, with label and explanation. */
export const CHANNEL_TYPES = [
  [ChannelType.GUILD_TEXT, t("Text"), t("Messages, files and threads.")],
  [ChannelType.GUILD_VOICE, t("Voice"), t("Talk, share video and a screen.")],
  [ChannelType.GUILD_FORUM, t("Forum"), t("Posts with tags, each with its own conversation.")],
  [ChannelType.GUILD_MEDIA, t("Media"), t("A forum for images and videos.")],
  [ChannelType.GUILD_ANNOUNCEMENT, t("Announcement"), t("News that other guilds can follow.")],
  [ChannelType.GUILD_STAGE_VOICE, t("Stage"), t("A few speakers and an audience.")],
  [ChannelType.GUILD_CATEGORY, t("Category"), t("A group of channels.")],
];

/** Waiting times of slow mode in seconds. */
const SLOW_MODE_OPTIONS = [
  [0, t("Off")],
  [5, t("5 seconds")],
  [10, t("10 seconds")],
  [15, t("15 seconds")],
  [30, t("30 seconds")],
  [60, t("1 minute")],
  [120, t("2 minutes")],
  [300, t("5 minutes")],
  [600, t("10 minutes")],
  [900, t("15 minutes")],
  [1800, t("30 minutes")],
  [3600, t("1 hour")],
  [7200, t("2 hours")],
  [21600, t("6 hours")],
];
/** Minutes without activity until a thread is archived. */
const ARCHIVE_OPTIONS = [
  [null, t("Default")],
  [60, t("1 hour")],
  [1440, t("1 day")],
  [4320, t("3 days")],
  [10080, t("1 week")],
];
const VIDEO_OPTIONS = [
  [VideoQualityMode.AUTO, t("Automatic")],
  [VideoQualityMode.FULL, "720p"],
];

/** Return whether the guild can have announcement channels. */
export const canHaveAnnouncements = guild =>
  (guild.features ?? []).some(name => name === "NEWS" || name === "COMMUNITY");

/** Return the pairs of ID and name for a choice of category. */
export function categoryOptions(state, guildId) {
  const categories = state
    .channelsOf(guildId)
    .filter(channel => channel.type === ChannelType.GUILD_CATEGORY)
    .sort((a, b) => a.position - b.position);
  return [[null, t("No category")], ...categories.map(category => [category.id, category.name])];
}

/** Return a field for a bitrate in bits per second. */
function bitrateSetting(max) {
  const input = h("input", { type: "range", min: BITRATE_MIN, max, step: BITRATE_STEP });
  const field = formField(t("Bitrate"), input, t("A higher bitrate sounds better and needs a faster connection."));
  const output = h("output", { class: "muted small" });
  const drawBitrate = () => {
    const text = t("{count} kbps", { count: Number(input.value) / 1000 });
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  input.addEventListener("input", drawBitrate);
  field.node.append(output);
  return {
    node: field.node,
    read: () => Number(input.value),
    write(value) {
      // A stored value above the current maximum stays until the user changes it.
      input.max = String(Math.max(max, value));
      input.value = String(value);
      drawBitrate();
    },
    setError: field.setError,
    setDisabled(disabled) {
      input.disabled = disabled;
    },
  };
}

/** Flags that users can set: the flag, the channels that can have it, label and explanation. */
const FLAG_SWITCHES = [
  [ChannelFlags.REQUIRE_TAG, isForum, t("Require a tag"), t("Every new post needs at least one tag.")],
  [
    ChannelFlags.HIDE_MEDIA_DOWNLOAD_OPTIONS,
    ({ type }) => type === ChannelType.GUILD_MEDIA,
    t("Hide download options"),
    t("Clients do not offer to download the media."),
  ],
  [
    ChannelFlags.IS_SPOILER_CHANNEL,
    ({ type }) => type !== ChannelType.GUILD_STAGE_VOICE,
    t("Hide media as spoilers"),
    t("Images and videos are shown after a click. Not possible in age-restricted channels."),
  ],
];

/** Return a field for the flags of a channel; flags without a switch stay unchanged. */
function flagsSetting(channel) {
  const switches = FLAG_SWITCHES.filter(([, isPossible]) => isPossible(channel)).map(([flag, , label, hint]) => ({
    flag,
    field: switchSetting(label, { hint }),
  }));
  let otherFlags = 0;
  return {
    node: h(
      "div",
      { class: "settings-section" },
      switches.map(({ field }) => field.node),
    ),
    read: () => switches.reduce((flags, { flag, field }) => (field.read() ? flags | flag : flags), otherFlags),
    write(value) {
      otherFlags = value;
      for (const { flag, field } of switches) {
        field.write(Boolean(value & flag));
        otherFlags &= ~flag;
      }
    },
    setError: showFieldNotice,
    setDisabled(disabled) {
      for (const { field } of switches) field.setDisabled(disabled);
    },
  };
}

/**
 * Return the maximum bitrate of a channel: fixed for stages, otherwise by the guild's premium tier. VIP_REGIONS counts
 * as the highest tier.
 */
function bitrateMax(channel, guild) {
  if (channel.type === ChannelType.GUILD_STAGE_VOICE) return STAGE_BITRATE_MAX;
  const last = BITRATE_MAX_BY_TIER.length - 1;
  const tier = (guild.features ?? []).includes("VIP_REGIONS") ? last : Math.min(guild.premium_tier ?? 0, last);
  return BITRATE_MAX_BY_TIER[tier];
}

/**
 * Return the fields of a channel by their name in the request.
 *
 * @param {any} view
 * @param {any} channel
 * @param {{id: string, name: string}[]} regions the voice regions
 */
export function channelFields(view, channel, regions) {
  const { guild, guildId, context } = view,
    { type } = channel;
  const name = { name: textSetting(t("Name"), { maxlength: CHANNEL_NAME_MAX }) };
  if (type === ChannelType.GUILD_CATEGORY) return name;
  const isText = type === ChannelType.GUILD_TEXT || type === ChannelType.GUILD_ANNOUNCEMENT;
  const hasTopic = isText || isForum(channel) || type === ChannelType.GUILD_STAGE_VOICE;
  return {
    ...name,
    ...(isText && canHaveAnnouncements(guild)
      ? {
          type: choiceSetting(t("Type"), [
            [ChannelType.GUILD_TEXT, t("Text")],
            [ChannelType.GUILD_ANNOUNCEMENT, t("Announcement")],
          ]),
        }
      : {}),
    parent_id: choiceSetting(t("Category"), categoryOptions(context.state, guildId)),
    ...(hasTopic
      ? {
          topic: textSetting(isForum(channel) ? t("Guidelines") : t("Topic"), {
            multiline: true,
            isNullable: true,
            maxlength: isForum(channel) ? FORUM_TOPIC_MAX : TOPIC_MAX,
          }),
        }
      : {}),
    rate_limit_per_user: choiceSetting(t("Slow mode"), SLOW_MODE_OPTIONS, {
      hint: isForum(channel)
        ? t("How long members wait between two posts.")
        : t("How long members wait between two messages. Members with “Bypass slow mode” do not wait."),
    }),
    nsfw: switchSetting(t("Age-restricted"), { hint: t("Members confirm that they are adults before they see it.") }),
    ...(isVoice(channel) ? voiceFields(channel, guild, regions) : threadFields(channel)),
    flags: flagsSetting(channel),
  };
}

function voiceFields(channel, guild, regions) {
  const max = channel.type === ChannelType.GUILD_VOICE ? VOICE_USER_LIMIT_MAX : STAGE_USER_LIMIT_MAX;
  return {
    bitrate: bitrateSetting(bitrateMax(channel, guild)),
    user_limit: numberSetting(t("User limit"), { hint: t("At most {max}. 0 for no limit.", { max }), min: "0", max }),
    video_quality_mode: choiceSetting(t("Video quality"), VIDEO_OPTIONS),
    rtc_region: choiceSetting(t("Region"), [
      [null, t("Automatic")],
      ...regions.map(region => [region.id, region.name]),
    ]),
  };
}

function threadFields(channel) {
  const [archiveLabel, slowModeLabel] = isForum(channel)
    ? [t("Close inactive posts after"), t("Slow mode in new posts")]
    : [t("Close inactive threads after"), t("Slow mode in new threads")];
  return {
    default_auto_archive_duration: choiceSetting(archiveLabel, ARCHIVE_OPTIONS),
    default_thread_rate_limit_per_user: choiceSetting(slowModeLabel, SLOW_MODE_OPTIONS),
  };
}

/** Return the stored values of a channel's fields, with defaults for missing properties. */
export function channelValues(channel) {
  return {
    name: channel.name,
    type: channel.type,
    parent_id: channel.parent_id ?? null,
    topic: channel.topic ?? null,
    rate_limit_per_user: channel.rate_limit_per_user ?? 0,
    nsfw: channel.nsfw ?? false,
    bitrate: channel.bitrate ?? STAGE_BITRATE_MAX,
    user_limit: channel.user_limit ?? 0,
    video_quality_mode: channel.video_quality_mode ?? VideoQualityMode.AUTO,
    rtc_region: channel.rtc_region ?? null,
    default_auto_archive_duration: channel.default_auto_archive_duration ?? null,
    default_thread_rate_limit_per_user: channel.default_thread_rate_limit_per_user ?? 0,
    flags: channel.flags ?? 0,
    available_tags: channel.available_tags ?? [],
    default_reaction_emoji: channel.default_reaction_emoji ?? null,
    default_sort_order: channel.default_sort_order ?? null,
    default_forum_layout: channel.default_forum_layout ?? ForumLayout.DEFAULT,
    default_tag_setting: channel.default_tag_setting ?? null,
  };
}
