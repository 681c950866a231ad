/** The header of a channel: title, topic, tools and menu; also the menu of a category. */

import { CHANNEL_NAME_MAX, TOPIC_MAX } from "../generated/limits.js";
import {
  ChannelFlags,
  ChannelType,
  Permissions,
  canStartThreads,
  isForum,
  isPrivate,
  isThread,
} from "../network/enums.js";
import { markChannelsRead } from "../state/read_markers.js";
import { formField, iconButton } from "../ui/controls.js";
import { confirmAction, openDialog } from "../ui/dialogs.js";
import { h, icon } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { createPart } from "../ui/layout_part.js";
import { runAndReport } from "../ui/notices.js";
import { openMenu, openPopup } from "../ui/popups.js";
import { channelPath } from "../ui/router.js";
import { t } from "../ui/translation.js";
import { conversationIcon, channelIconName, channelTitle } from "../content/avatars.js";
import { activityLine } from "../games/activity/text.js";
import { linkedChannelBadge } from "../games/linked_channels.js";
import { callIdOf, joinLobbyCall } from "../calls/places.js";
import { startPrivateCall } from "../calls/private_calls.js";
import { openAddPeople } from "../guilds/join_dialogs.js";
import { openInviteLink } from "../guilds/menu.js";
import { channelNotificationItems } from "../guilds/mutes.js";

/**
 * Return the header of a channel; `onClose` closes the pane that shows a thread beside its parent channel; it is null
 * in the main view.
 */
export function channelHeader(context, channel, onClose = null) {
  const { state } = context;
  const title = channelTitle(channel, state),
    parent = isThread(channel) && onClose === null ? state.channels.get(channel.parent_id) : null;
  const dispatch = name => event => event.currentTarget.dispatchEvent(new CustomEvent(name, { bubbles: true }));
  const otherUser = channel.type === ChannelType.DM ? channel.recipients?.[0] : null;
  const hasThreads = channel.guild_id && canStartThreads(channel);
  return h(
    "header",
    { class: "view-head" },
    iconButton("menu", t("Channels and conversations"), dispatch("show-side"), { class: "icon-button to-side" }),
    channel.guild_id
      ? icon(channelIconName(channel))
      : conversationIcon(channel, title, otherUser ? state.statusOf(otherUser.id) : undefined),
    h(
      "div",
      { class: "view-title" },
      h(
        "h2",
        { dir: "auto" },
        parent ? [h("a", { href: channelPath(parent), class: "muted" }, parent.name), " › "] : null,
        title,
      ),
      otherUser ? activityButton(context, otherUser) : null,
      linkedChannelBadge(context, channel),
      channel.topic ? h("p", { class: "muted small topic", dir: "auto", title: channel.topic }, channel.topic) : null,
    ),
    h(
      "div",
      { class: "view-tools" },
      isPrivate(channel) && !otherUser?.bot
        ? iconButton("voice", t("Start call"), () => startPrivateCall(context, channel))
        : null,
      callIdOf(context, channel) === channel.id
        ? null
        : iconButton("voice", t("Start or join the call of the game"), () =>
            joinLobbyCall(context, callIdOf(context, channel)),
          ),
      hasThreads
        ? iconButton("thread", t("Threads"), async () =>
            (await loadThreads())?.openThreadList(context, openChannelMenu),
          )
        : null,
      isForum(channel) ? null : iconButton("pin", t("Pinned messages"), () => openPins(context, channel)),
      onClose === null ? paneButton(context, "search", t("Search"), dispatch("open-search")) : null,
      (otherUser === null || channel.guild_id) && onClose === null
        ? paneButton(context, "members", t("Members"), dispatch("toggle-members"))
        : null,
      iconButton("more", t("Channel options"), event => openChannelMenu(event.currentTarget, context, channel), {
        "aria-haspopup": "menu",
      }),
      onClose === null ? null : iconButton("close", t("Close thread"), onClose),
    ),
  );
}

/** Return the button of a pane of the shell, which updates its expanded state. */
function paneButton(context, pane, label, onClick) {
  return iconButton(pane === "members" ? "people" : pane, label, onClick, {
    "aria-expanded": String(context.openPanes.has(pane)),
    dataset: { pane },
  });
}

const loadThreads = () => loadModule(() => import("./threads.js"));

async function openPins(context, channel) {
  const module = await loadModule(() => import("./pinned_messages.js"));
  module?.openPinnedMessages(context, context.state.can(channel.id, Permissions.PIN_MESSAGES));
}

/** Return a button with the short line about the activities of a user, which opens their cards; null if there are none. */
function activityButton(context, user) {
  const line = activityLine(context.state.activitiesOf(user.id));
  if (!line) return null;
  const open = event => {
    const name = context.state.displayName(user, null);
    const cards = createPart("hubbub-activity-cards", context, { userId: user.id });
    const node = h(
      "div",
      { class: "activity-popup", role: "dialog", "aria-label": t("Activities of {name}", { name }), tabindex: "-1" },
      cards,
    );
    openPopup(event.currentTarget, node, { focus: node });
  };
  return h(
    "button",
    {
      type: "button",
      class: "link muted small topic",
      dir: "auto",
      "aria-haspopup": "dialog",
      dataset: { focus: "activity" },
      onclick: open,
    },
    line,
  );
}

/** Open the menu of a channel, thread or conversation, with the actions that the user's permissions allow. */
export function openChannelMenu(anchor, context, channel) {
  const { state, api, me } = context;
  const isThreadChannel = isThread(channel),
    canManage = state.can(channel.id, isThreadChannel ? Permissions.MANAGE_THREADS : Permissions.MANAGE_CHANNELS);
  const isGroup = channel.type === ChannelType.GROUP_DM;
  const parent = isThreadChannel ? state.channels.get(channel.parent_id) : undefined;
  const isPost = parent !== undefined && isForum(parent),
    isPinned = Boolean((channel.flags ?? 0) & ChannelFlags.PINNED);
  const toggleArchived = () =>
    runAndReport(() =>
      api.request("PATCH", `/channels/${channel.id}`, { json: { archived: !channel.thread_metadata?.archived } }),
    );
  const edit = () => openEditDialog(context, channel);
  openMenu(anchor, channelTitle(channel, state), [
    state.isUnread(channel.id) && {
      label: t("Mark as read"),
      icon: "check",
      onClick: () => runAndReport(() => markChannelsRead(context, [channel])),
    },
    ...channelNotificationItems(context, anchor, channel),
    channel.guild_id &&
      !isThreadChannel &&
      state.can(channel.id, Permissions.CREATE_INSTANT_INVITE) && {
        label: t("Invite people"),
        icon: "invite",
        onClick: () => openInviteLink(context, channel),
      },
    channel.type === ChannelType.GUILD_ANNOUNCEMENT && {
      label: t("Follow"),
      icon: "bell",
      onClick: async () => (await loadModule(() => import("./follow_dialog.js")))?.openFollowing(context, channel),
    },
    isThreadChannel && {
      label: channel.member ? t("Leave thread") : t("Join thread"),
      icon: "thread",
      onClick: async () => (await loadThreads())?.toggleThreadMembership(context),
    },
    isThreadChannel &&
      (canManage || channel.owner_id === me.id) && {
        label: channel.thread_metadata?.archived ? t("Reopen thread") : t("Archive thread"),
        icon: "lock",
        onClick: toggleArchived,
      },
    isPost &&
      (canManage || channel.owner_id === me.id) &&
      parent.available_tags?.length > 0 && {
        label: t("Edit tags"),
        icon: "tag",
        onClick: async () => (await loadModule(() => import("./post_tags.js")))?.openTagEditor(context, channel),
      },
    isPost &&
      canManage && {
        label: isPinned ? t("Unpin post") : t("Pin post"),
        icon: "pin",
        onClick: () =>
          runAndReport(() =>
            api.request("PATCH", `/channels/${channel.id}`, {
              json: { flags: (channel.flags ?? 0) ^ ChannelFlags.PINNED },
            }),
          ),
      },
    (canManage || isGroup || (isThreadChannel && channel.owner_id === me.id)) &&
      channel.type !== ChannelType.DM && {
        label: channel.guild_id && !isThreadChannel ? t("Edit channel") : t("Rename"),
        icon: "edit",
        onClick: edit,
      },
    isGroup && { label: t("Add people"), icon: "invite", onClick: () => openAddPeople(context, channel) },
    isGroup && {
      label: t("Leave group"),
      icon: "leave",
      isDangerous: true,
      onClick: () => deleteChannel(context, channel, t("Leave the group?"), t("Leave")),
    },
    channel.type === ChannelType.DM && {
      label: t("Close conversation"),
      icon: "close",
      onClick: () => closeConversation(context, channel),
    },
    canManage &&
      channel.guild_id && {
        label: t("Delete"),
        icon: "bin",
        isDangerous: true,
        onClick: () => deleteChannel(context, channel, t("Delete #{channel}?", { channel: channel.name }), t("Delete")),
      },
  ]);
}

/** Open the menu of a category, with the actions that the user's permissions allow. */
export function openCategoryMenu(anchor, context, category) {
  const { state } = context;
  const children = state.channelsOf(category.guild_id).filter(channel => channel.parent_id === category.id);
  openMenu(anchor, category.name, [
    children.some(channel => state.isUnread(channel.id)) && {
      label: t("Mark as read"),
      icon: "check",
      onClick: () => runAndReport(() => markChannelsRead(context, children)),
    },
    ...channelNotificationItems(context, anchor, category),
    state.can(category.id, Permissions.MANAGE_CHANNELS) && {
      label: t("Create channel"),
      icon: "plus",
      onClick: () => createChannelIn(context, category),
    },
    state.can(category.id, Permissions.MANAGE_CHANNELS) && {
      label: t("Rename"),
      icon: "edit",
      onClick: () => openEditDialog(context, category),
    },
    state.can(category.id, Permissions.MANAGE_CHANNELS) && {
      label: t("Delete"),
      icon: "bin",
      isDangerous: true,
      onClick: () =>
        deleteChannel(
          context,
          category,
          t("Delete the category {category}?", { category: category.name }),
          t("Delete"),
        ),
    },
  ]);
}

async function createChannelIn(context, category) {
  const module = await loadModule(() => import("../settings/channels/creation.js"));
  const channel = await module?.openChannelCreation(context, category.guild_id, category.id);
  if (channel && channel.type !== ChannelType.GUILD_CATEGORY) context.go(channelPath(channel));
}

async function closeConversation(context, channel) {
  if (await runAndReport(() => context.api.request("DELETE", `/channels/${channel.id}`))) {
    context.state.apply("CHANNEL_DELETE", channel);
    context.go("/app");
  }
}

/** Delete a channel, or leave a group, after confirmation. */
async function deleteChannel(context, channel, title, label) {
  if (!(await confirmAction(title, t("This cannot be undone."), label))) return;
  const isDeleted = await runAndReport(() => context.api.request("DELETE", `/channels/${channel.id}`));
  // The channel in view stays open if another channel of a guild was deleted.
  if (isDeleted && (channel.id === context.channelId || !channel.guild_id))
    context.go(channel.guild_id ? `/app/channels/${channel.guild_id}` : "/app");
}

function openEditDialog(context, channel) {
  const isCategory = channel.type === ChannelType.GUILD_CATEGORY;
  openDialog(channel.guild_id && !isThread(channel) && !isCategory ? t("Edit channel") : t("Rename"), close => {
    const hasTopic = channel.guild_id && !isThread(channel) && !isCategory && channel.type !== ChannelType.GUILD_VOICE;
    const name = formField(
      t("Name"),
      h("input", { type: "text", maxlength: CHANNEL_NAME_MAX, value: channel.name ?? "", dir: "auto" }),
    );
    const topic = hasTopic
      ? formField(
          t("Topic"),
          h("textarea", { rows: "3", maxlength: TOPIC_MAX, value: channel.topic ?? "", dir: "auto" }),
        )
      : null;
    const save = async event => {
      event.preventDefault();
      const json = { name: name.input.value.trim() };
      if (topic) json.topic = topic.input.value.trim() || null;
      try {
        await context.api.request("PATCH", `/channels/${channel.id}`, { json });
        close();
      } catch (error) {
        name.setError(error.userText);
      }
    };
    const openAll = () => {
      close();
      openChannelSettings(context, channel);
    };
    return h(
      "form",
      { class: "stack", onsubmit: save },
      name.node,
      topic?.node,
      h(
        "div",
        { class: "row end" },
        channel.guild_id && !isThread(channel)
          ? h("button", { type: "button", class: "button quiet", onclick: openAll }, t("All settings"))
          : null,
        h("button", { type: "submit", class: "button" }, t("Save")),
      ),
    );
  });
}

/** Open the page of a channel in the guild settings. */
async function openChannelSettings(context, channel) {
  const modules = await loadModule(() =>
    Promise.all([import("../settings/guild_settings.js"), import("../settings/channels/editor.js")]),
  );
  if (modules === null) return;
  const [{ openGuildSettings }, { openChannel }] = modules;
  const view = openGuildSettings(context, channel.guild_id, "channels");
  openChannel(view, channel.id, () => view.show("channels"));
}
