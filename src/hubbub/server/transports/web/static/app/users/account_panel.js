/** The panel of the current user: name, status menu, user settings, and a menu with other pages and the logout. */

import { clearStorage } from "../network/browser_storage.js";
import { endPushSubscription } from "../network/push.js";
import { iconButton } from "../ui/controls.js";
import { h, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { runAndReport } from "../ui/notices.js";
import { openMenu } from "../ui/popups.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";

/** Maximum time that logging out waits for the browser to end the push subscription. */
const PUSH_TIMEOUT_MS = 1_000;

const STATUS_LABELS = { online: t("Online"), idle: t("Idle"), dnd: t("Do not disturb"), invisible: t("Invisible") };

class AccountPanel extends LayoutPart {
  static kinds = ["me", "settings"];

  draw() {
    const { me, state } = this.context;
    if (!me) return;
    const name = state.displayName(me, null);
    const status = this.#status;
    const custom = customStatusText(state.settings.custom_status);
    setChildren(
      this,
      h(
        "div",
        { class: "account-panel" },
        h(
          "button",
          {
            type: "button",
            class: "account-button",
            "aria-haspopup": "menu",
            onclick: event => this.#openStatusMenu(event.currentTarget),
          },
          h("span", { "aria-hidden": "true" }, userAvatar(me, name, status === "invisible" ? "offline" : status)),
          h(
            "span",
            { class: "account-name", "aria-hidden": "true" },
            h("strong", { dir: "auto" }, name),
            h("span", { class: "muted small", dir: "auto" }, custom || STATUS_LABELS[status]),
          ),
          h(
            "span",
            { class: "visually-hidden" },
            t("{name}, {status}: change status", {
              name,
              status: [STATUS_LABELS[status], custom].filter(Boolean).join(", "),
            }),
          ),
        ),
        iconButton("settings", t("User settings"), () => this.#openSettings(null)),
        iconButton("more", t("Account menu"), event => this.#openMoreMenu(event.currentTarget), {
          "aria-haspopup": "menu",
        }),
      ),
    );
  }

  get #status() {
    const { status } = this.context.state.settings;
    return status in STATUS_LABELS ? status : "online";
  }

  /** Open the settings of the user, at a screen or at the first one. The shell opens the dialog. */
  #openSettings(screenId) {
    this.dispatchEvent(new CustomEvent("account-settings", { bubbles: true, detail: screenId }));
  }

  #dispatch(eventName) {
    this.dispatchEvent(new CustomEvent(eventName, { bubbles: true }));
  }

  #openStatusMenu(anchor) {
    const { api, state } = this.context;
    const change = settings =>
      runAndReport(async () => {
        const changedSettings = await api.request("PATCH", "/users/@me/settings", { json: settings });
        state.apply("USER_SETTINGS_UPDATE", changedSettings);
      });
    openMenu(anchor, t("Status"), [
      ...Object.entries(STATUS_LABELS).map(([status, label]) => ({
        label,
        image: h("span", { class: `status ${status === "invisible" ? "offline" : status}`, "aria-hidden": "true" }),
        isChosen: status === this.#status,
        onClick: () => change({ status }),
      })),
      {
        label: state.settings.custom_status ? t("Edit custom status") : t("Set custom status"),
        icon: "smile",
        onClick: () => this.#openSettings("status"),
      },
      state.settings.custom_status && {
        label: t("Clear custom status"),
        icon: "close",
        onClick: () => change({ custom_status: null }),
      },
    ]);
  }

  #openMoreMenu(anchor) {
    const open = path => () => location.assign(path);
    openMenu(anchor, t("Account"), [
      { label: t("User settings"), onClick: () => this.#openSettings(null) },
      { label: t("Go to…"), onClick: () => this.#dispatch("open-switcher") },
      { label: t("Keyboard shortcuts"), onClick: () => this.#dispatch("open-shortcuts") },
      { label: t("Subscriptions"), onClick: open("/settings/subscriptions") },
      { label: t("Developers"), onClick: open("/developers") },
      { label: t("Log out"), icon: "leave", isDangerous: true, onClick: () => logOut() },
    ]);
  }
}

/** Return a custom status as text; a custom emoji is left out. */
function customStatusText(custom) {
  if (!custom) return "";
  return [custom.emoji_id ? null : custom.emoji_name, custom.text].filter(Boolean).join(" ");
}

/** End the push subscription and remove the stored data of the client from this browser, then submit a logout form. */
async function logOut() {
  const timeout = new Promise(resolve => setTimeout(resolve, PUSH_TIMEOUT_MS));
  await Promise.race([endPushSubscription().catch(() => {}), timeout]);
  const token = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=hubbub-client]")).dataset.formToken;
  const form = h(
    "form",
    { method: "post", action: "/logout", hidden: true },
    h("input", { type: "hidden", name: "form_token", value: token }),
  );
  document.body.append(form);
  // Leaving the page saves drafts, unless the composers were removed first.
  document.querySelector(".client")?.remove();
  clearStorage();
  form.submit();
}

customElements.define("hubbub-account-panel", AccountPanel);
