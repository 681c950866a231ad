/** The full-screen settings of a guild: navigation, one screen at a time, and the bar for unsaved changes. */

import { iconButton } from "../ui/controls.js";
import { confirmAction } from "../ui/dialogs.js";
import { h, icon, setChildren } from "../ui/dom.js";
import { closePopup } from "../ui/popups.js";
import { showNotice } from "../ui/notices.js";
import { AUDIT_LOG_SCREEN } from "./audit_log.js";
import { AUTO_MODERATION_SCREEN } from "./auto_moderation.js";
import { BANS_SCREEN } from "./bans.js";
import { CHANNELS_SCREEN } from "./channels.js";
import { EMOJI_SCREEN } from "./emoji.js";
import { GuildSettingsAccess } from "./guild_access.js";
import { GUILD_TAG_SCREEN } from "./guild_tag.js";
import { INTEGRATIONS_SCREEN } from "./integrations.js";
import { INVITES_SCREEN } from "./invites.js";
import { JOIN_FORM_SCREEN } from "./join_form.js";
import { JOIN_REQUESTS_SCREEN } from "./join_requests.js";
import { MEMBER_GUIDE_SCREEN } from "./member_guide.js";
import { MEMBERS_SCREEN } from "./members.js";
import { ONBOARDING_SCREEN } from "./onboarding.js";
import { OVERVIEW_SCREEN } from "./overview.js";
import { OWNERSHIP_SCREEN } from "./ownership.js";
import { ROLES_SCREEN } from "./roles.js";
import { SAFETY_SCREEN } from "./safety.js";
import { EVENTS_SCREEN } from "./scheduled_events.js";
import { SOUNDBOARD_SCREEN } from "./soundboard.js";
import { STAGES_SCREEN } from "./stages.js";
import { STICKERS_SCREEN } from "./stickers.js";
import { TEMPLATES_SCREEN } from "./templates.js";
import { VANITY_URL_SCREEN } from "./vanity_url.js";
import { WEBHOOKS_SCREEN } from "./webhooks.js";
import { WELCOME_SCREEN } from "./welcome_screen.js";
import { WIDGET_SCREEN } from "./widget.js";

/**
 * A screen of the settings.
 *
 * @typedef {object} SettingsScreen
 * @property {string} id
 * @property {string} label
 * @property {string} icon
 * @property {(view: GuildSettings) => any} build returns the content
 */

/** Kinds of state changes that screens react to. */
const WATCHED_KINDS = new Set([
  "guilds",
  "members",
  "channels",
  "auditLog",
  "autoModeration",
  "joinRequests",
  "sounds",
  "webhooks",
  "integrations",
  "invites",
  "scheduledEvents",
]);

/** Screens by the heading of their group in the navigation. @type {[string, SettingsScreen[]][]} */
const GROUPS = [
  [
    "Guild",
    [
      OVERVIEW_SCREEN,
      GUILD_TAG_SCREEN,
      ROLES_SCREEN,
      CHANNELS_SCREEN,
      EMOJI_SCREEN,
      STICKERS_SCREEN,
      SOUNDBOARD_SCREEN,
    ],
  ],
  ["Members", [MEMBERS_SCREEN, INVITES_SCREEN, VANITY_URL_SCREEN, JOIN_FORM_SCREEN, JOIN_REQUESTS_SCREEN, BANS_SCREEN]],
  [
    "Community",
    [
      EVENTS_SCREEN,
      STAGES_SCREEN,
      WELCOME_SCREEN,
      MEMBER_GUIDE_SCREEN,
      ONBOARDING_SCREEN,
      TEMPLATES_SCREEN,
      WIDGET_SCREEN,
    ],
  ],
  ["Integrations", [INTEGRATIONS_SCREEN, WEBHOOKS_SCREEN]],
  ["Moderation", [AUTO_MODERATION_SCREEN, SAFETY_SCREEN, AUDIT_LOG_SCREEN]],
  ["Ownership", [OWNERSHIP_SCREEN]],
];
const SCREENS = GROUPS.flatMap(([, screens]) => screens);

/** Screens without room for the list of screens and a screen side by side. The style sheet has the same width. */
const NARROW = "(max-width: 45.99rem)";

/** Open the settings of a guild: a screen, or the list of screens where it does not fit beside one. */
export function openGuildSettings(context, guildId, screenId = null) {
  closePopup();
  const view = new GuildSettings(context, guildId);
  view.open(screenId);
  return view;
}

/** The open settings of one guild. */
class GuildSettings {
  /** The form with unsaved changes of the current screen, or null. @type {import("./form.js").SettingsForm | null} */
  #form = null;
  /** Called after changes of the guild or its members. @type {((detail: any) => void) | null} */
  #onChange = null;
  /** Leaves the page of the current screen; null if the screen itself is shown. @type {(() => void) | null} */
  #leavePage = null;
  /** Whether the user is deleting the guild. */
  isLeaving = false;

  constructor(context, guildId) {
    this.context = context;
    this.guildId = guildId;
  }

  get guild() {
    return this.context.state.guilds.get(this.guildId);
  }

  /** The current access of the user. */
  get access() {
    return new GuildSettingsAccess(this.context, this.guildId);
  }

  /** Show the settings. */
  open(screenId) {
    const { state } = this.context;
    const before = document.activeElement;
    this.title = h("span", { class: "settings-guild", dir: "auto" }, this.guild.name);
    this.backLabel = h("span", { dir: "auto" });
    this.links = new Map(SCREENS.map(screen => [screen.id, this.#link(screen)]));
    this.main = h("div", {
      class: "settings-main",
      role: "region",
      "aria-labelledby": "settings-heading",
      tabindex: "-1",
    });
    this.bar = this.#saveBar();
    this.box = h(
      "dialog",
      { class: "settings", "aria-labelledby": "settings-title" },
      h(
        "header",
        { class: "settings-head" },
        h(
          "button",
          { type: "button", class: "settings-all", onclick: () => this.#goUp() },
          icon("back"),
          this.backLabel,
        ),
        h("h2", { id: "settings-title" }, "Guild settings", this.title),
      ),
      h(
        "nav",
        { class: "settings-nav", "aria-label": "Settings" },
        GROUPS.map(([heading, screens]) => [
          h("h3", null, heading),
          h(
            "ul",
            null,
            screens.map(({ id }) => h("li", null, this.links.get(id))),
          ),
        ]),
      ),
      h("div", { class: "settings-content" }, this.main, this.bar),
      iconButton("close", "Close settings", () => this.requestClose(), {
        class: "icon-button settings-close",
        "aria-keyshortcuts": "Escape",
      }),
    );
    const onState = ({ detail }) => this.#onStateChange(detail);
    state.addEventListener("change", onState);
    this.box.addEventListener("close", () => {
      state.removeEventListener("change", onState);
      this.box.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    });
    this.box.addEventListener("keydown", event => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      this.requestClose();
    });
    // The back gesture of a phone; the Escape key is handled above.
    this.box.addEventListener("cancel", event => {
      if (event.target !== this.box) return;
      event.preventDefault();
      if (this.#hidesList) this.#goUp();
      else this.requestClose();
    });
    document.body.append(this.box);
    this.box.showModal();
    this.show(screenId ?? SCREENS[0].id);
    if (screenId === null) this.#showList();
    else (this.#hidesList ? this.main : this.links.get(screenId)).focus();
  }

  /** Whether a screen covers the list of screens. */
  get #hidesList() {
    return window.matchMedia(NARROW).matches && !this.box.classList.contains("shows-list");
  }

  /** Show the list of screens where a screen covers it, and focus the current one. */
  #showList() {
    this.box.classList.add("shows-list");
    this.box.querySelector(".settings-link[aria-current]").focus();
  }

  /** Leave a page of the screen, or the screen. */
  #goUp() {
    if (this.#leavePage === null) this.requestList();
    else this.requestPage(this.#leavePage);
  }

  /** Return to the list of screens, unless the user keeps unsaved changes. */
  async requestList() {
    if (!(await this.#confirmDiscard())) return;
    this.#form?.reset();
    this.#showList();
  }

  #link(screen) {
    return h(
      "button",
      { type: "button", class: "settings-link", onclick: () => this.request(screen.id) },
      icon(screen.icon),
      h("span", null, screen.label),
    );
  }

  /** Show a screen, unless the user keeps unsaved changes. */
  async request(screenId) {
    if (!(await this.#confirmDiscard())) return;
    this.show(screenId);
    this.box.classList.remove("shows-list");
    if (this.#hidesList) this.main.focus();
  }

  /** Show a screen. */
  show(screenId) {
    const screen = SCREENS.find(({ id }) => id === screenId);
    for (const [id, link] of this.links) {
      if (id === screenId) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.links.get(screenId).scrollIntoView({ block: "nearest" });
    this.setContent(screen.label, screen.build(this));
  }

  /** Show a page of the screen. The button with the label calls `leavePage`, unless the user keeps unsaved changes. */
  openPage(title, label, leavePage, content) {
    const back = h(
      "button",
      { type: "button", class: "button small quiet settings-back", onclick: () => this.#goUp() },
      icon("back"),
      label,
    );
    this.setContent(title, content);
    this.main.prepend(back);
    this.backLabel.textContent = label;
    this.#leavePage = leavePage;
    this.main.focus();
  }

  /** Leave a page of the screen, unless the user keeps unsaved changes. */
  async requestPage(openPage) {
    if (await this.#confirmDiscard()) openPage();
  }

  /** Replace the content of the screen, for screens with several pages. */
  setContent(title, content) {
    this.#form = this.pendingForm ?? null;
    this.pendingForm = null;
    this.#onChange = this.pendingListener ?? null;
    this.pendingListener = null;
    this.#leavePage = null;
    this.backLabel.textContent = "All settings";
    setChildren(this.main, h("h3", { class: "settings-heading", id: "settings-heading", dir: "auto" }, title), content);
    this.main.scrollTop = 0;
    this.drawBar();
  }

  /** Change the title of the content. */
  setTitle(title) {
    this.main.querySelector(".settings-heading").textContent = title;
  }

  /** Use a form with the save bar. Call while building the content. */
  useForm(form) {
    this.pendingForm = form;
    return form;
  }

  /** Call a function after changes of this guild while the content is shown. Call while building the content. */
  onChange(listener) {
    this.pendingListener = listener;
  }

  // Unsaved changes

  #saveBar() {
    const save = async event => {
      event.preventDefault();
      const button = event.currentTarget;
      button.disabled = true;
      const isSaved = await this.#form.submit();
      button.disabled = false;
      if (!isSaved) return;
      showNotice("Changes saved.", "done");
      this.main.focus();
    };
    const reset = () => {
      this.#form.reset();
      this.main.focus();
    };
    return h(
      "div",
      { class: "save-bar", role: "region", "aria-label": "Unsaved changes", hidden: true },
      h("p", { role: "status" }, "You have unsaved changes."),
      h("button", { type: "button", class: "button small quiet", onclick: reset }, "Reset"),
      h("button", { type: "button", class: "button small", onclick: save }, "Save changes"),
    );
  }

  /** Show the bar if there are unsaved changes. */
  drawBar() {
    this.bar.hidden = !this.#form?.isDirty;
  }

  /** Return whether there are no unsaved changes, or the user discards them. */
  async #confirmDiscard() {
    if (!this.#form?.isDirty) return true;
    return confirmAction("Discard changes?", "You have changes that are not saved.", "Discard");
  }

  /** Close the settings, unless the user keeps unsaved changes. */
  async requestClose() {
    if (await this.#confirmDiscard()) this.box.close();
  }

  #onStateChange(detail) {
    if (detail.kind === "guilds" && this.guild === undefined) {
      this.box.close();
      if (!this.isLeaving) showNotice("You are no longer a member of this guild.");
      return;
    }
    if (detail.guildId !== this.guildId || !WATCHED_KINDS.has(detail.kind)) return;
    if (this.guild === undefined) return;
    this.title.textContent = this.guild.name;
    this.#onChange?.(detail);
  }
}
