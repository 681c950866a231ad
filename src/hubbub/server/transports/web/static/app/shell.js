/** The layout of the client: guilds, channels, the view, a thread, the search and members; one at a time on narrow screens. */

import "./guilds/list.js";
import "./channels/sidebar.js";
import "./calls/bar.js";
import "./calls/view.js";
import "./users/account_panel.js";
import "./users/friends.js";
import "./users/member_list.js";
import "./messages/timeline.js";
import "./composer/composer.js";
import "./channel_view.js";
import { ChannelFlags, ChannelType, Permissions, isForum, isMessageable, isThread } from "./network/enums.js";
import { compareIds } from "./network/ids.js";
import { bindToChannel } from "./state/context.js";
import { h, setChildren } from "./ui/dom.js";
import { drawInNextFrame } from "./ui/frames.js";
import { createPart } from "./ui/layout_part.js";
import { createLiveRegion } from "./ui/live_region.js";
import { applyAppearance } from "./ui/appearance.js";
import { loadModule } from "./ui/lazy_modules.js";
import { closePopup, closePopupIn } from "./ui/popups.js";
import { channelPath } from "./ui/router.js";
import { t } from "./ui/translation.js";
import { createAnnouncements } from "./notifications/announcements.js";
import { createClientHead } from "./client_head.js";
import { createConnectionBar } from "./connection_bar.js";
import { startKeyboard } from "./keyboard.js";
import { drawPageTitle } from "./page_title.js";
import { SearchArea } from "./search_area.js";
import { ThreadPane } from "./thread_pane.js";
import { createUnavailableView, formerGuildText, missingText } from "./unavailable_view.js";

/** The page of the client: builds the layout and shows the route of the URL. */
export class Shell {
  /** The last viewed channel ID of each guild ID. */
  #lastChannelIds = new Map();
  /** Key of the view that is shown, or null. */
  #viewKey = null;

  constructor(context, router) {
    this.context = context;
    this.router = router;
  }

  /** Replace the page with the client. */
  mount() {
    const { context, router } = this;
    this.view = h(
      "main",
      { class: "view", id: "view", tabindex: "-1" },
      h("p", { class: "waiting muted", role: "status" }, t("Loading…")),
    );
    // The strip shows the call on narrow screens, where the channels with the call bar are hidden.
    this.callStrip = h("section", { class: "call-strip", "aria-label": t("Voice"), hidden: true });
    this.members = h("div", { class: "members-area" });
    this.threadPane = new ThreadPane(context);
    this.search = new SearchArea(context, () => this.#onSearchToggle());
    this.side = h("aside", { class: "side", "aria-label": t("Channels and conversations") });
    this.rail = h("div", { class: "rail-area" });
    this.backdrop = h("button", {
      type: "button",
      class: "backdrop",
      "aria-label": t("Back to the conversation"),
      onclick: () => this.closePanels(),
    });
    this.root = h(
      "div",
      { class: "client" },
      createClientHead(() => this.focusView()),
      h("div", { class: "banners" }, createConnectionBar(context.gateway), createAnnouncements(context)),
      this.callStrip,
      this.rail,
      this.side,
      this.view,
      this.threadPane.node,
      this.search.node,
      this.members,
      this.backdrop,
      createLiveRegion(),
    );
    document.body.className = "client-page";
    document.body.append(this.root);
    document.documentElement.classList.add("client-started");
    for (const element of [...document.body.children])
      if (element !== this.root && !element.matches(".notices")) element.remove();
    this.root.addEventListener("show-side", () => this.#showSide(true));
    this.root.addEventListener("toggle-members", () => this.#toggleMembers());
    this.root.addEventListener("account-settings", event => this.#openAccountSettings(event));
    this.root.addEventListener("open-member-menu", event => this.#openMemberMenu(event));
    this.root.addEventListener("open-mentions", () => this.#openMentions());
    this.root.addEventListener("open-search", () => this.search.open());
    startKeyboard(this);
    router.addEventListener("navigate", () => {
      // Navigating to the same message again scrolls to it again.
      this.shownMessageId = null;
      closePopup();
      this.show();
    });
    context.state.addEventListener("change", ({ detail }) => this.#onStateChange(detail));
    this.#wideScreen = window.matchMedia("(min-width: 64rem)");
    this.#wideScreen.addEventListener("change", () => {
      this.show();
      this.#drawMembers();
    });
    this.wantsMembers = this.#wideScreen.matches;
  }

  #drawTitle = () => drawPageTitle(this.context);

  /** Media query of screens that are wide enough for the member list. */
  #wideScreen;

  #onStateChange({ kind, id, guildId }) {
    const { state } = this.context;
    if (kind === "ready" || kind === "settings") applyAppearance(state.settings);
    if (kind === "ready") this.#onReady();
    else if (kind === "call") this.callStrip.hidden = id === null;
    else if (kind === "channels" && (id === this.context.channelId || id === null)) this.show();
    else if (kind === "guilds" && (guildId === this.context.guildId || id === this.router.route.guildId)) this.show();
    if (kind === "readStates" || kind === "ready") drawInNextFrame(this.#drawTitle);
    if ((kind === "relationships" || kind === "notificationSettings") && state.ready) drawInNextFrame(this.#drawTitle);
  }

  /** Open the settings of the user; the event names a screen in `detail`, or null. */
  async #openAccountSettings({ detail: screenId }) {
    const settings = await loadModule(() => import("./account/account_settings.js"));
    settings?.openAccountSettings(this.context, screenId);
  }

  /** Open the context menu of the user that the event names in `detail`. */
  async #openMemberMenu({ detail: { anchor, context, userId } }) {
    const module = await loadModule(() => import("./guilds/member_menu.js"));
    module?.openMemberMenu(anchor, context, userId);
  }

  async #openMentions() {
    (await loadModule(() => import("./channels/mentions.js")))?.openMentions(this.context);
  }

  /** Show the search pane instead of the thread pane and the member list, or show these again. */
  #onSearchToggle() {
    this.root.classList.toggle("has-search", this.search.isOpen);
    this.threadPane.isBlocked = this.search.isOpen;
    this.shownMessageId = this.router.route.messageId;
    this.show();
    this.#drawMembers();
  }

  #onReady() {
    const { context } = this;
    if (!this.rail.firstChild) {
      this.rail.append(createPart("hubbub-rail", context));
      this.side.append(createPart("hubbub-sidebar", context));
      this.callStrip.append(createPart("hubbub-call-bar", context));
    }
    this.show();
  }

  /** Show the current route. */
  show() {
    const { context, router } = this,
      { state } = context;
    if (!state.ready) return;
    const route = router.route;
    const channel = route.channelId ? state.channels.get(route.channelId) : undefined;
    this.#drawThreadPane(channel);
    if (route.channelId === null && route.guildId === null) this.#showFriends();
    else if (state.formerGuilds.has(route.guildId)) this.#showUnavailable(route);
    else if (route.channelId === null) this.#showGuild(route.guildId);
    else if (channel === undefined) this.#fetchChannel(route);
    else if (
      (channel.flags ?? 0) & ChannelFlags.CHANNEL_OBFUSCATED ||
      (channel.guild_id && !state.can(channel.id, Permissions.VIEW_CHANNEL))
    )
      this.#showUnavailable(route);
    else if (channel.type === ChannelType.GUILD_CATEGORY)
      router.go(`/app/channels/${channel.guild_id}`, { replace: true });
    else this.#showChannel(channel, route.messageId);
  }

  /** Set the guild and channel in view and notify the parts of the client. */
  #setLocation(guildId, channelId) {
    const { context } = this;
    if (context.guildId === guildId && context.channelId === channelId) return;
    context.guildId = guildId;
    context.channelId = channelId;
    const channel = context.state.channels.get(channelId);
    if (guildId && channel) this.#lastChannelIds.set(guildId, isThread(channel) ? channel.parent_id : channelId);
    if (channelId) {
      context.visits.delete(channelId);
      context.visits.add(channelId);
    }
    this.search.closeIfLeft();
    context.state.emitChange("route");
  }

  /** Close the thread pane, unless the channel to show is a thread that belongs in it. */
  #drawThreadPane(channel) {
    const isOpen = channel !== undefined && this.threadPane.accepts(channel);
    this.root.classList.toggle("has-thread", isOpen);
    if (!isOpen) this.threadPane.clear();
  }

  /** Show the view with this key, unless it is shown already; return whether it was built. */
  #showView(key, build) {
    if (this.#viewKey === key) return false;
    this.#viewKey = key;
    closePopupIn(this.view);
    const hadFocus = this.root.contains(document.activeElement) && this.view.contains(document.activeElement);
    setChildren(this.view, build());
    if (hadFocus) this.focusView();
    drawPageTitle(this.context);
    return true;
  }

  #showFriends() {
    this.#setLocation(null, null);
    // On narrow screens, start with the list of channels.
    this.#showSide(this.#viewKey === null);
    this.#showView("friends", () => createPart("hubbub-friends", this.context));
    this.#drawMembers();
  }

  /** Go to the last viewed or the first channel of a guild; on narrow screens, show its channel list. */
  #showGuild(guildId) {
    const { state } = this.context;
    const guild = state.guilds.get(guildId);
    if (guild === undefined) {
      this.#showUnavailable({ guildId });
      return;
    }
    this.#setLocation(guildId, null);
    const visibleChannels = state
      .channelsOf(guildId)
      .filter(
        channel => !isThread(channel) && isMessageable(channel) && state.can(channel.id, Permissions.VIEW_CHANNEL),
      );
    const target =
      visibleChannels.find(channel => channel.id === this.#lastChannelIds.get(guildId)) ??
      visibleChannels.sort(
        (a, b) => this.#sortRank(a) - this.#sortRank(b) || a.position - b.position || compareIds(a.id, b.id),
      )[0];
    if (target !== undefined && !this.#isNarrow) this.router.go(channelPath(target), { replace: true });
    else if (guild.unavailable !== true || !visibleChannels.length) {
      this.#showView(`guild-${guildId}-${guild.unavailable}`, () =>
        this.#messageView(guild.unavailable ? missingText(this.context, guildId) : t("Choose a channel.")),
      );
      this.#showSide(true);
      this.#drawMembers();
    }
  }

  #sortRank(channel) {
    return channel.type === ChannelType.GUILD_TEXT || channel.type === ChannelType.GUILD_ANNOUNCEMENT ? 0 : 1;
  }

  get #isNarrow() {
    return !window.matchMedia("(min-width: 46rem)").matches;
  }

  #showChannel(channel, messageId) {
    this.router.replaceUrl(channelPath(channel, messageId));
    this.#setLocation(channel.guild_id ?? null, channel.id);
    if (this.threadPane.accepts(channel)) {
      this.#showChannelView(this.context.state.channels.get(channel.parent_id), null);
      this.threadPane.show(channel, messageId);
      this.#drawMembers();
    } else this.#showChannelView(channel, messageId);
    drawPageTitle(this.context);
    this.shownMessageId = messageId;
  }

  #showChannelView(channel, messageId) {
    if (isForum(channel) && !customElements.get("hubbub-forum")) {
      this.#showView("loading-forum", () => this.#messageView(t("Loading…")));
      loadModule(() => import("./channels/forum.js")).then(module => module && this.show());
      return;
    }
    // The user may have opened a panel while the channel was loading.
    const wasLoading = this.#viewKey === `loading-${channel.id}`;
    const isNewView = this.#showView(`channel-${channel.id}`, () =>
      createPart(isForum(channel) ? "hubbub-forum" : "hubbub-channel", bindToChannel(this.context, channel.id), {
        messageId,
      }),
    );
    if (isNewView) {
      if (!wasLoading) this.#showSide(false);
      if (!this.#isNarrow && !messageId) this.view.querySelector("textarea.compose")?.focus();
    } else if (messageId && messageId !== this.shownMessageId)
      /** @type {any} */ (this.view.firstElementChild).seek?.(messageId);
    this.#drawMembers();
  }

  /** Fetch a channel that no event announced: an archived thread, or one without access. */
  async #fetchChannel(route) {
    const { context } = this,
      { state, api } = context;
    const guild = state.guilds.get(route.guildId);
    // The guild may not have arrived yet.
    if (route.guildId && guild && guild.name === undefined && !guild.unavailable) return;
    if (this.#viewKey === `channel-${route.channelId}`) {
      this.#showUnavailable(route);
      return;
    }
    const key = `loading-${route.channelId}`;
    if (this.#viewKey === key || this.#viewKey === `unavailable-${route.channelId}`) return;
    this.#setLocation(guild ? route.guildId : null, null);
    this.#showView(key, () => this.#messageView(t("Loading…")));
    this.#showSide(false);
    try {
      const channel = await api.request("GET", `/channels/${route.channelId}`);
      state.apply("CHANNEL_UPDATE", channel);
      if (this.router.route.channelId === channel.id) this.show();
    } catch (error) {
      if (this.#viewKey === key)
        this.#showUnavailable(route, error.status === 0 || error.status >= 500 ? error.userText : null);
    }
  }

  #showUnavailable(route, reason = null) {
    const key = `unavailable-${route.channelId ?? route.guildId}`;
    this.#setLocation(this.context.state.guilds.has(route.guildId) ? route.guildId : null, null);
    const guildName = this.context.state.formerGuilds.get(route.guildId);
    const text = guildName ? formerGuildText(guildName) : missingText(this.context, route.guildId);
    this.#showView(guildName ? `former-${route.guildId}` : key, () => this.#messageView(reason ?? text));
    this.#drawMembers();
  }

  #messageView(text) {
    return createUnavailableView(text, () => this.#showSide(true));
  }

  #showSide(isOpen) {
    this.root.classList.toggle("show-side", isOpen);
    if (isOpen) this.root.classList.remove("show-members");
    if (isOpen && this.#isNarrow)
      (this.side.querySelector("a.entry[aria-current]") ?? this.side.querySelector("a, button"))?.focus();
  }

  /** Whether a panel covers the view. */
  get hasOpenPanel() {
    return this.root.classList.contains("show-side") || this.root.classList.contains("show-members");
  }

  /** Close the panels that cover the view on narrow screens. */
  closePanels() {
    this.#showSide(false);
    this.root.classList.remove("show-members");
    this.#drawMembers();
  }

  #toggleMembers() {
    if (this.threadPane.isOpen) {
      this.wantsMembers = true;
      this.threadPane.close();
      return;
    }
    if (this.#wideScreen.matches) {
      this.wantsMembers = !this.wantsMembers;
      this.#drawMembers();
      return;
    }
    const isOpen = this.root.classList.toggle("show-members");
    this.#drawMembers();
    if (isOpen) this.members.querySelector("button")?.focus();
  }

  #drawMembers() {
    const { context } = this,
      channel = context.state.channels.get(context.channelId);
    const showsMembers =
      channel !== undefined &&
      channel.type !== ChannelType.DM &&
      !this.threadPane.isOpen &&
      !(this.search.isOpen && this.#wideScreen.matches) &&
      (this.#wideScreen.matches ? this.wantsMembers : this.root.classList.contains("show-members"));
    const key = showsMembers ? (channel.guild_id ?? channel.id) : "";
    this.#setPaneState("members", showsMembers);
    this.#setPaneState("search", this.search.isOpen);
    if (!showsMembers) this.root.classList.remove("show-members");
    this.root.classList.toggle("has-members", showsMembers && this.#wideScreen.matches);
    if (this.members.dataset.of === key) return;
    this.members.dataset.of = key;
    setChildren(this.members, showsMembers ? createPart("hubbub-members", bindToChannel(context, channel.id)) : null);
  }

  /** Show on the buttons of a pane whether it is open. */
  #setPaneState(pane, isOpen) {
    this.context.openPanes[isOpen ? "add" : "delete"](pane);
    for (const button of this.view.querySelectorAll(`[data-pane="${pane}"]`))
      button.setAttribute("aria-expanded", String(isOpen));
  }

  /** Focus the composer, or the view without one. */
  focusView() {
    (this.view.querySelector("textarea.compose") ?? this.view).focus();
  }
}
