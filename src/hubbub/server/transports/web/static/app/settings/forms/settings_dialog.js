/** A full-screen settings dialog: navigation, one screen at a time, and the bar for unsaved changes. */

import { iconButton } from "../../ui/controls.js";
import { confirmAction } from "../../ui/dialogs.js";
import { h, icon, setChildren } from "../../ui/dom.js";
import { closePopup } from "../../ui/popups.js";
import { showNotice } from "../../ui/notices.js";
import { t } from "../../ui/translation.js";

/**
 * A screen of the settings.
 *
 * @typedef {object} SettingsScreen
 * @property {string} id
 * @property {string} label
 * @property {string} icon
 * @property {(view: any) => any} build returns the content
 */

/** Media query of windows that are too narrow for the navigation beside a screen. The style sheet has the same width. */
const NARROW_WINDOW = "(max-width: 45.99rem)";

/** A settings dialog. Subclasses override `onStateChange` and call `notifyScreen` for changes that screens react to. */
export class SettingsDialog {
  /** The form with unsaved changes of the current screen, or null. @type {import("./form.js").SettingsForm | null} */
  #form = null;
  /** Callback of the screen for changes that it reacts to, or null. @type {((detail: any) => void) | null} */
  #onChange = null;
  /** Callback that leaves the page of the current screen; null if the screen itself is shown. @type {(() => void) | null} */
  #leavePage = null;

  /**
   * @param {any} context
   * @param {string} title
   * @param {[string, SettingsScreen[]][]} groups screens by the heading of their group in the navigation
   */
  constructor(context, title, groups) {
    this.context = context;
    this.title = title;
    this.groups = groups;
    this.screens = groups.flatMap(([, screens]) => screens);
  }

  /** Name of the subject of the settings, shown below the title. */
  get subject() {
    return "";
  }

  /**
   * Open the dialog at a screen. Without a screen ID, show the first screen, or the list of screens if the window is too
   * narrow for both.
   */
  open(screenId = null) {
    closePopup();
    const { state } = this.context;
    const focusedBefore = document.activeElement;
    this.subjectNode = h("span", { class: "settings-guild", dir: "auto" }, this.subject);
    this.backLabel = h("span", { dir: "auto" });
    this.links = new Map(this.screens.map(screen => [screen.id, this.#link(screen)]));
    this.main = h("div", {
      class: "settings-main",
      role: "region",
      "aria-labelledby": "settings-heading",
      // A page without enabled controls scrolls by keyboard only if it can have the focus.
      tabindex: "0",
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
        h("h2", { id: "settings-title" }, this.title, this.subjectNode),
      ),
      h(
        "nav",
        { class: "settings-nav", "aria-label": t("Settings") },
        this.groups.map(([heading, screens]) => [
          h("h3", null, heading),
          h(
            "ul",
            null,
            screens.map(({ id }) => h("li", null, this.links.get(id))),
          ),
        ]),
      ),
      h("div", { class: "settings-content" }, this.main, this.bar),
      iconButton("close", t("Close settings"), () => this.requestClose(), {
        class: "icon-button settings-close",
        "aria-keyshortcuts": "Escape",
      }),
    );
    const onState = ({ detail }) => this.onStateChange(detail);
    state.addEventListener("change", onState);
    this.box.addEventListener("close", () => {
      state.removeEventListener("change", onState);
      this.box.remove();
      if (focusedBefore instanceof HTMLElement && focusedBefore.isConnected) focusedBefore.focus();
    });
    this.box.addEventListener("keydown", event => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      this.requestClose();
    });
    // The back gesture of a phone causes this event; the Escape key is handled above.
    this.box.addEventListener("cancel", event => {
      if (event.target !== this.box) return;
      event.preventDefault();
      if (this.#hidesList) this.#goUp();
      else this.requestClose();
    });
    document.body.append(this.box);
    this.box.showModal();
    this.show(screenId ?? this.screens[0].id);
    if (screenId === null) this.#showList();
    else (this.#hidesList ? this.main : this.links.get(screenId)).focus();
  }

  /** Whether a screen covers the list of screens. */
  get #hidesList() {
    return window.matchMedia(NARROW_WINDOW).matches && !this.box.classList.contains("shows-list");
  }

  /** Show the list of screens in a narrow window, and focus the link of the current screen. */
  #showList() {
    this.box.classList.add("shows-list");
    this.box.querySelector(".settings-link[aria-current]").focus();
  }

  /** Leave the page for its screen, or the screen for the list of screens, unless the user keeps unsaved changes. */
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

  /** Show a screen and mark its link as current, without a question about unsaved changes. */
  show(screenId) {
    const screen = this.screens.find(({ id }) => id === screenId);
    for (const [id, link] of this.links) {
      if (id === screenId) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.links.get(screenId).scrollIntoView({ block: "nearest" });
    this.setContent(screen.label, screen.build(this));
  }

  /** Show a page of the screen. The button with the label calls `leavePage`, unless the user keeps unsaved changes. */
  openPage(title, label, leavePage, content) {
    const backButton = h(
      "button",
      { type: "button", class: "button small quiet settings-back", onclick: () => this.#goUp() },
      icon("back"),
      label,
    );
    this.setContent(title, content);
    this.main.prepend(backButton);
    this.backLabel.textContent = label;
    this.#leavePage = leavePage;
    this.main.focus();
  }

  /** Call a function that shows another page, unless the user keeps unsaved changes. */
  async requestPage(showPage) {
    if (await this.#confirmDiscard()) showPage();
  }

  /** Replace the title and content. Use the form and the listener that `useForm` and `onChange` received before. */
  setContent(title, content) {
    this.#form = this.pendingForm ?? null;
    this.pendingForm = null;
    this.#onChange = this.pendingListener ?? null;
    this.pendingListener = null;
    this.#leavePage = null;
    this.backLabel.textContent = t("All settings");
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

  /** Call a function after changes while the content is shown. Call while building the content. */
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
      showNotice(t("Changes saved."), "done");
      this.main.focus();
    };
    const reset = () => {
      this.#form.reset();
      this.main.focus();
    };
    return h(
      "div",
      { class: "save-bar", role: "region", "aria-label": t("Unsaved changes"), hidden: true },
      h("p", { role: "status" }, t("You have unsaved changes.")),
      h("button", { type: "button", class: "button small quiet", onclick: reset }, t("Reset")),
      h("button", { type: "button", class: "button small", onclick: save }, t("Save changes")),
    );
  }

  /** Show the bar if there are unsaved changes. */
  drawBar() {
    this.bar.hidden = !this.#form?.isDirty;
  }

  /** Return whether there are no unsaved changes, or the user discards them. */
  async #confirmDiscard() {
    if (!this.#form?.isDirty) return true;
    return confirmAction(t("Discard changes?"), t("You have changes that are not saved."), t("Discard"));
  }

  /** Close the settings, unless the user keeps unsaved changes. */
  async requestClose() {
    if (await this.#confirmDiscard()) this.box.close();
  }

  /** Update the dialog after a change of the state. @param {any} _detail */
  onStateChange(_detail) {}

  /** Update the subject and report a change to the screen that is shown. */
  notifyScreen(detail) {
    this.subjectNode.textContent = this.subject;
    this.#onChange?.(detail);
  }
}
