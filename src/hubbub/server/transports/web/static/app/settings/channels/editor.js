/** Guild settings: the page of one channel or category, with its fields, permissions and deletion. */

import { ChannelType, Permissions, isForum, isVoice } from "../../network/enums.js";
import { h } from "../../ui/dom.js";
import { runAndReport, showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";
import { channelFields, channelValues } from "./fields.js";
import { normalizeOverwrites, overwritableBits, overwritesSetting, saveOverwrites } from "./overwrites.js";
import { SettingsForm, openActionDialog } from "../forms/form.js";
import { actionButton, lockedNotice, settingsSection } from "../forms/layout.js";
import { forumFields } from "./forum_fields.js";
import { permissionPreview } from "../permissions/preview.js";
import { settingsTabs } from "../forms/tabs.js";

/** Show the page of a channel; `goBack` shows the list again. */
export async function openChannel(view, channelId, goBack) {
  const { context } = view;
  const findChannel = () => context.state.channels.get(channelId);
  const channel = findChannel();
  if (channel === undefined) return;
  let regions = [];
  if (isVoice(channel))
    await runAndReport(async () => {
      regions = await context.api.request("GET", `/guilds/${view.guildId}/regions`);
    });
  if (findChannel() !== undefined && view.main.isConnected) buildPage(view, channelId, findChannel, regions, goBack);
}

function buildPage(view, channelId, findChannel, regions, goBack) {
  const channel = findChannel();
  const general = channelFields(view, channel, regions),
    posts = isForum(channel) ? forumFields(view, channel) : {},
    overwrites = overwritesSetting(view, findChannel);
  const valuesOf = current => ({
    ...channelValues(current),
    permission_overwrites: normalizeOverwrites(current.permission_overwrites),
  });
  const form = new SettingsForm({ ...general, ...posts, permission_overwrites: overwrites }, valuesOf(channel), {
    save: changes => saveChannel(view, channelId, changes, overwrites.base()),
    onInput: () => view.drawBar(),
  });
  view.useForm(form);
  const preview = permissionPreview(
    view,
    () => ({ ...find(), permission_overwrites: overwrites.read() }),
    overwritableBits(channel.type),
  );
  const notice = h("div", { class: "settings-access" });
  const deletion = h("div");
  let isDeletedHere = false,
    { name } = channel;
  const updateDenials = () => {
    const access = view.access,
      denialReason = access.findChannelDenialReason(Permissions.MANAGE_CHANNELS, channelId),
      rolesDenialReason = access.findChannelDenialReason(Permissions.MANAGE_ROLES, channelId);
    const texts = [
      denialReason === null ? null : t("You cannot change this channel. {reason}", { reason: denialReason }),
      rolesDenialReason === null
        ? null
        : t("You cannot change its permissions. {reason}", { reason: rolesDenialReason }),
    ].filter(Boolean);
    notice.replaceChildren(...texts.map(text => lockedNotice(text)));
    for (const field of [...Object.values(general), ...Object.values(posts)]) field.setDisabled(denialReason !== null);
    overwrites.updateDenials();
    drawDeletion(deletion, view, findChannel(), denialReason, () => (isDeletedHere = true));
  };
  view.onChange(({ kind, id }) => {
    const current = findChannel();
    if (current === undefined) {
      goBack();
      if (!isDeletedHere) showNotice(t("{name} was deleted by someone else.", { name }));
      return;
    }
    if (kind === "channels" && (id === channelId || id === current.parent_id || id === null)) {
      form.showStored(valuesOf(current));
      name = current.name;
      view.setTitle(name);
    }
    if (kind !== "members" || id === view.context.me.id) updateDenials();
    preview.draw();
  });
  updateDenials();
  const tabs = [
    { label: t("Overview"), content: [generalSections(channel, general), deletion] },
    isForum(channel) && { label: t("Posts"), content: postSections(general, posts) },
    { label: t("Permissions"), content: overwrites.node },
    { label: t("View as"), content: preview.node, onShow: preview.draw },
  ].filter(Boolean);
  view.openPage(channel.name, t("All channels"), goBack, [notice, settingsTabs(t("Channel"), tabs)]);
}

/**
 * Send the changes of the channel, then those of its overwrites; return the stored values, or undefined if only
 * overwrites changed.
 */
async function saveChannel({ context }, channelId, { permission_overwrites: overwrites, ...changes }, base) {
  let storedChannel;
  if (Object.keys(changes).length)
    storedChannel = await context.api.request("PATCH", `/channels/${channelId}`, { json: changes });
  if (overwrites !== undefined) await saveOverwrites({ context }, channelId, base, overwrites);
  if (storedChannel === undefined) return undefined;
  return {
    ...channelValues(storedChannel),
    permission_overwrites: overwrites ?? normalizeOverwrites(storedChannel.permission_overwrites),
  };
}

function generalSections(channel, fields) {
  const nodes = names => names.filter(name => name in fields).map(name => fields[name].node);
  if (channel.type === ChannelType.GUILD_CATEGORY) return settingsSection(t("Category"), nodes(["name"]));
  return [
    settingsSection(t("Channel"), nodes(["name", "type", "topic", "parent_id"])),
    isVoice(channel)
      ? settingsSection(t("Voice and video"), nodes(["bitrate", "user_limit", "video_quality_mode", "rtc_region"]))
      : null,
    settingsSection(t("Safety"), nodes(["rate_limit_per_user", "nsfw", ...(isForum(channel) ? [] : ["flags"])])),
    isVoice(channel) || isForum(channel)
      ? null
      : settingsSection(t("Threads"), nodes(["default_auto_archive_duration", "default_thread_rate_limit_per_user"])),
  ];
}

function postSections(general, posts) {
  return [
    settingsSection(t("Tags"), posts.available_tags.node),
    settingsSection(
      t("New posts"),
      posts.default_reaction_emoji.node,
      general.default_auto_archive_duration.node,
      general.default_thread_rate_limit_per_user.node,
      general.flags.node,
    ),
    settingsSection(
      t("List of posts"),
      posts.default_sort_order.node,
      posts.default_forum_layout?.node,
      posts.default_tag_setting.node,
    ),
  ];
}

/** Return why a channel cannot be deleted although the user manages channels, or null. */
function deletionDenialReason(guild, channel) {
  const isRequired =
    (guild.features ?? []).includes("COMMUNITY") &&
    [guild.rules_channel_id, guild.public_updates_channel_id].includes(channel.id);
  return isRequired ? t("A community guild needs this channel for its rules or updates.") : null;
}

function drawDeletion(node, view, channel, denialReason, onDelete) {
  const isCategory = channel.type === ChannelType.GUILD_CATEGORY,
    reason = denialReason ?? deletionDenialReason(view.guild, channel),
    label = isCategory ? t("Delete category") : t("Delete channel");
  const version = `${channel.name} ${reason}`;
  if (node.dataset.version === version) return;
  node.dataset.version = version;
  const remove = async () => {
    const isDone = await openActionDialog({
      title: t("Delete {name}?", { name: channel.name }),
      text: isCategory
        ? t("Its channels stay and have no category afterwards. This cannot be undone.")
        : t("All messages and threads in it are deleted. This cannot be undone."),
      label,
      run: async () => {
        onDelete();
        await view.context.api.request("DELETE", `/channels/${channel.id}`);
      },
    });
    if (!isDone) return;
    view.context.state.apply("CHANNEL_DELETE", { id: channel.id, guild_id: view.guildId });
    showNotice(t("{name} was deleted.", { name: channel.name }), "done");
  };
  node.replaceChildren(
    settingsSection(
      t("Delete"),
      h("div", { class: "row" }, actionButton(label, remove, { isDangerous: true, denialReason: reason })),
      reason === null ? null : h("p", { class: "hint" }, reason),
    ),
  );
}
