/** The sidebar: channels of a guild or private conversations, with the call bar and the account panel below. */

import {
  ChannelFlags,
  ChannelType,
  Permissions,
  RelationshipType,
  isMessageable,
  isThread,
  isVoice,
} from "../network/enums.js";
import { compareIds } from "../network/ids.js";
import { bindToChannel } from "../state/context.js";
import { channelNotificationSettings } from "../state/notification_rules.js";
import { iconButton } from "../ui/controls.js";
import { h, icon, reconcile } from "../ui/dom.js";
import { LayoutPart, createPart } from "../ui/layout_part.js";
import { runAndReport } from "../ui/notices.js";
import { channelPath } from "../ui/router.js";
import { t, tn } from "../ui/translation.js";
import { userAvatar, conversationIcon, channelIconName, channelTitle } from "../content/avatars.js";
import { callIdOf, lobbyCallEntry, lobbyCalls } from "../calls/places.js";
import { getCalls } from "../voice/calls.js";
import { callObstacle } from "../voice/support.js";
import { activityLine } from "../games/activity/text.js";
import { linkedChannelIcon } from "../games/linked_channels.js";
import { memberMenuHandler, openProfile } from "../users/profile.js";
import { openNewConversation } from "../guilds/join_dialogs.js";
import { openGuildMenu } from "../guilds/menu.js";
import { updateNotificationSettings } from "../guilds/mute_settings.js";
import { openCategoryMenu, openChannelMenu } from "./header.js";

/** Whether a category is collapsed, by ID, while the server stores it. @type {Map<string, boolean>} */
const unsavedCollapses = new Map();

class Sidebar extends LayoutPart {
  static kinds = [
    "guilds",
    "channels",
    "readStates",
    "members",
    "relationships",
    "presences",
    "voiceStates",
    "call",
    "route",
    "notificationSettings",
  ];

  begin() {
    this.head = h("header", { class: "side-head" });
    this.list = h("ul", { class: "side-list" });
    this.nav = h("nav", { class: "side-nav", "aria-label": t("Channels") }, this.list);
    this.replaceChildren(
      this.head,
      this.nav,
      createPart("hubbub-call-bar", this.context),
      createPart("hubbub-account-panel", this.context),
    );
  }

  draw() {
    const { guildId, state } = this.context;
    const guild = state.guilds.get(guildId);
    this.nav.setAttribute("aria-label", guild ? t("Channels of {guild}", { guild: guild.name }) : t("Direct messages"));
    this.#drawHead(guild);
    reconcile(this.list, guild ? this.#channels(guild) : this.#conversations());
  }

  #drawHead(guild) {
    const version = guild ? `${guild.id} ${guild.name}` : "@me";
    if (this.head.dataset.version === version) return;
    this.head.dataset.version = version;
    if (guild) {
      this.head.replaceChildren(
        h("h2", { dir: "auto" }, guild.name ?? t("Unknown guild")),
        iconButton(
          "down",
          t("Menu of {guild}", { guild: guild.name }),
          event => openGuildMenu(event.currentTarget, this.context, guild.id),
          {
            "aria-haspopup": "menu",
          },
        ),
      );
    } else
      this.head.replaceChildren(
        h("h2", null, t("Direct messages")),
        iconButton("plus", t("New message"), () => openNewConversation(this.context)),
      );
  }

  // Private channels

  #conversations() {
    const { state, channelId } = this.context;
    const requestCount = [...state.relationships.values()].filter(
      relationship => relationship.type === RelationshipType.PENDING_INCOMING,
    ).length;
    const isCurrent = channelId === null;
    return [
      {
        key: "friends",
        version: `${isCurrent} ${requestCount}`,
        build: () =>
          h(
            "li",
            null,
            h(
              "a",
              { href: "/app", class: "entry", "aria-current": isCurrent ? "page" : null },
              icon("people"),
              h("span", { class: "entry-name" }, t("Friends")),
              requestCount ? h("span", { class: "count" }, requestCount) : null,
            ),
          ),
      },
      ...lobbyCalls(this.context).flatMap(lobby => [
        lobbyCallEntry(this.context, lobby),
        ...state.voiceStatesIn(lobby.id).map(voiceState => this.#voiceEntry({ id: lobby.id }, voiceState)),
      ]),
      ...state.privateChannels().map(channel => {
        const title = channelTitle(channel, state),
          other = channel.recipients?.[0];
        const status = channel.type === ChannelType.DM && other ? state.statusOf(other.id) : undefined;
        const isUnread = state.isShownUnread(channel.id),
          mentionCount = state.mentionCountIn(channel.id);
        const activityText = status === undefined ? "" : activityLine(state.activitiesOf(other.id));
        return {
          key: channel.id,
          version: [
            activityText,
            state.isMuted(channel.id),
            title,
            status,
            isUnread,
            mentionCount,
            channel.id === channelId,
            other?.avatar,
            channel.icon,
          ].join(" "),
          build: () =>
            this.#channelItem(
              channel,
              conversationIcon(channel, title, status),
              title,
              isUnread,
              mentionCount,
              "",
              activityText,
            ),
        };
      }),
    ];
  }

  // Channels of a guild

  #channels(guild) {
    const { state } = this.context;
    if (guild.unavailable)
      return [
        {
          key: "unavailable",
          version: "",
          build: () => h("li", { class: "muted side-text" }, t("This guild is temporarily unavailable.")),
        },
      ];
    const visibleChannels = state
      .channelsOf(guild.id)
      .filter(
        channel =>
          !((channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED) && !isThread(channel) && this.#isVisible(channel),
      );
    const sortByPosition = list =>
      list.sort((a, b) => isVoice(a) - isVoice(b) || a.position - b.position || compareIds(a.id, b.id));
    const categories = sortByPosition(visibleChannels.filter(channel => channel.type === ChannelType.GUILD_CATEGORY));
    /** @type {Map<string | null, any[]>} */
    const channelsByCategory = new Map([[null, []], ...categories.map(category => [category.id, []])]);
    const strayChannels = [];
    for (const channel of visibleChannels)
      if (channel.type !== ChannelType.GUILD_CATEGORY)
        (channelsByCategory.get(channel.parent_id ?? null) ?? strayChannels).push(channel);
    for (const channels of channelsByCategory.values()) sortByPosition(channels);
    const topChannels = [...channelsByCategory.get(null), ...strayChannels];
    const entries = topChannels.flatMap(channel => this.#channelEntries(channel));
    for (const category of categories) {
      const channels = channelsByCategory.get(category.id);
      const isOpen = !(unsavedCollapses.get(category.id) ?? channelNotificationSettings(state, category).collapsed);
      entries.push({
        key: category.id,
        version: `${category.name} ${isOpen}`,
        build: () => this.#categoryItem(category, isOpen),
      });
      for (const channel of channels)
        if (
          isOpen ||
          state.isShownUnread(channel.id) ||
          state.mentionCountIn(channel.id) ||
          channel.id === this.context.channelId
        )
          entries.push(...this.#channelEntries(channel));
    }
    if (!entries.length)
      entries.push({
        key: "none",
        version: "",
        build: () => h("li", { class: "muted side-text" }, t("You do not have access to any channels in this guild.")),
      });
    return entries;
  }

  #isVisible(channel) {
    const { state } = this.context;
    if (channel.type === ChannelType.GUILD_CATEGORY)
      return (
        state.channels.under(channel.id).some(child => !((child.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED)) ||
        state.canInGuild(channel.guild_id, Permissions.MANAGE_CHANNELS)
      );
    return state.can(channel.id, Permissions.VIEW_CHANNEL);
  }

  #categoryItem(category, isOpen) {
    const onClick = () => {
      const target = { guildId: category.guild_id, channelId: category.id };
      unsavedCollapses.set(category.id, isOpen);
      this.draw();
      runAndReport(async () => {
        try {
          await updateNotificationSettings(this.context, target, { collapsed: isOpen });
        } finally {
          unsavedCollapses.delete(category.id);
          this.draw();
        }
      });
    };
    return h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: "category",
          "aria-expanded": String(isOpen),
          dataset: { focus: "fold" },
          onclick: onClick,
          oncontextmenu: event => {
            event.preventDefault();
            openCategoryMenu(event.currentTarget, this.context, category);
          },
        },
        icon("down"),
        h("span", { dir: "auto" }, category.name),
      ),
    );
  }

  #channelEntries(channel) {
    const { state, channelId } = this.context;
    const isUnread = isMessageable(channel) && state.isShownUnread(channel.id),
      mentionCount = state.mentionCountIn(channel.id);
    const entries = [
      {
        key: channel.id,
        version: [
          state.isMuted(channel.id),
          channel.name,
          channel.type,
          isUnread,
          mentionCount,
          channel.id === channelId,
          channel.status,
          Boolean(channel.linked_lobby),
        ].join(" "),
        build: () => this.#channelItem(channel, icon(channelIconName(channel)), channel.name, isUnread, mentionCount),
      },
    ];
    for (const thread of state.threadsOf(channel.id)) {
      const isCurrent = thread.id === channelId;
      if (!isCurrent && (!thread.member || thread.thread_metadata?.archived)) continue;
      const isUnreadThread = state.isShownUnread(thread.id) && Boolean(thread.member),
        threadMentionCount = state.mentionCountIn(thread.id);
      entries.push({
        key: thread.id,
        version: `${state.isMuted(thread.id)} ${thread.name} ${isUnreadThread} ${threadMentionCount} ${isCurrent}`,
        build: () =>
          this.#channelItem(thread, icon("thread"), thread.name, isUnreadThread, threadMentionCount, "inner"),
      });
    }
    const callId = callIdOf(this.context, channel);
    if (isVoice(channel) || callId !== channel.id)
      entries.push(...state.voiceStatesIn(callId).map(voiceState => this.#voiceEntry(channel, voiceState)));
    return entries;
  }

  #voiceEntry(channel, voiceState) {
    const { state } = this.context;
    const user = state.user(voiceState.user_id) ?? { id: voiceState.user_id, username: t("Unknown user") };
    const name = state.displayName(user, channel.guild_id);
    const muted = voiceState.self_mute || voiceState.mute || voiceState.suppress,
      deaf = voiceState.self_deaf || voiceState.deaf;
    const isSpeaking = this.#isSpeaking(channel, voiceState.user_id);
    return {
      key: `voice-${channel.id}-${voiceState.user_id}`,
      version: `${name} ${muted} ${deaf} ${isSpeaking} ${user.avatar}`,
      build: () =>
        h(
          "li",
          null,
          h(
            "button",
            {
              type: "button",
              class: isSpeaking ? "in-voice speaking" : "in-voice",
              dataset: { focus: "user" },
              onclick: () => openProfile(bindToChannel(this.context, channel.id), user.id),
              oncontextmenu: memberMenuHandler(bindToChannel(this.context, channel.id), user.id),
            },
            userAvatar(user, name),
            h("span", { class: "entry-name", dir: "auto" }, name),
            muted
              ? h("span", { role: "img", "aria-label": t("muted"), title: t("muted") }, icon("microphone_off"))
              : null,
            deaf
              ? h("span", { role: "img", "aria-label": t("deafened"), title: t("deafened") }, icon("ears_off"))
              : null,
          ),
        ),
    };
  }

  #isSpeaking(channel, userId) {
    const { call, channelId } = getCalls(this.context);
    return channelId === callIdOf(this.context, channel) && (call?.speakingIds.has(userId) ?? false);
  }

  /** Join the call of a clicked voice channel; the link itself shows the channel. */
  #onChannelClick(event, channel) {
    if (!isVoice(channel) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (callObstacle() === null && this.context.state.can(channel.id, Permissions.CONNECT))
      getCalls(this.context).join(channel);
  }

  /** Open the menu of a channel, by a right click or the menu key. */
  #openMenu(event, channel) {
    event.preventDefault();
    openChannelMenu(event.currentTarget, bindToChannel(this.context, channel.id), channel);
  }

  #channelItem(channel, iconElement, name, isUnread, mentionCount, className = "", activityText = "") {
    const { state, channelId } = this.context;
    const isCurrent = channel.id === channelId,
      isMuted = state.isMuted(channel.id);
    return h(
      "li",
      { class: className || null },
      h(
        "a",
        {
          href: channelPath(channel),
          class: isUnread ? "entry unread" : isMuted ? "entry muted-channel" : "entry",
          "aria-current": isCurrent ? "page" : null,
          dataset: { focus: channel.id },
          onclick: event => this.#onChannelClick(event, channel),
          oncontextmenu: event => this.#openMenu(event, channel),
        },
        iconElement,
        h(
          "span",
          { class: "entry-name", dir: "auto" },
          name,
          activityText ? h("span", { class: "entry-activity", dir: "auto" }, activityText) : null,
        ),
        channel.status ? h("span", { class: "muted small entry-status", dir: "auto" }, channel.status) : null,
        mentionCount
          ? h(
              "span",
              { class: "count" },
              mentionCount,
              h("span", { class: "visually-hidden" }, ` ${tn("mention", "mentions", mentionCount)}`),
            )
          : isUnread
            ? h("span", { class: "visually-hidden" }, ` ${t("unread")}`)
            : null,
        linkedChannelIcon(channel),
        isMuted ? h("span", { role: "img", "aria-label": t("muted"), title: t("Muted") }, icon("bell_off")) : null,
      ),
    );
  }
}

customElements.define("hubbub-sidebar", Sidebar);
