/** The panel of the current user: name, status menu and settings menu. */

import { restorePresence, updatePresence } from "../network/own_presence.js";
import { iconButton } from "../ui/controls.js";
import { h, setChildren } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { openMenu } from "../ui/popups.js";
import { userAvatar } from "../content/avatars.js";

const STATUS_LABELS = { online: "Online", idle: "Idle", dnd: "Do not disturb", invisible: "Invisible" };

class AccountPanel extends LayoutPart {
  static kinds = ["me"];
  status = "online";

  begin() {
    restorePresence(this.context.gateway);
  }

  draw() {
    const { me, state } = this.context;
    if (!me) return;
    const name = state.displayName(me, null);
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
            "aria-label": `${name}, ${STATUS_LABELS[this.status]}: change status`,
            onclick: event => this.#openStatusMenu(event.currentTarget),
          },
          userAvatar(me, name, this.status === "invisible" ? "offline" : this.status),
          h(
            "span",
            { class: "account-name" },
            h("strong", { dir: "auto" }, name),
            h("span", { class: "muted small" }, STATUS_LABELS[this.status]),
          ),
        ),
        iconButton("more", "Settings", event => this.#openSettingsMenu(event.currentTarget), {
          "aria-haspopup": "menu",
        }),
      ),
    );
  }

  #openStatusMenu(anchor) {
    const choose = status => {
      this.status = status;
      updatePresence(this.context.gateway, { status });
      this.draw();
    };
    openMenu(
      anchor,
      "Status",
      Object.entries(STATUS_LABELS).map(([status, label]) => ({
        label,
        mark: h("span", { class: `status ${status === "invisible" ? "offline" : status}`, "aria-hidden": "true" }),
        isChosen: status === this.status,
        onClick: () => choose(status),
      })),
    );
  }

  #openSettingsMenu(anchor) {
    const open = path => () => location.assign(path);
    openMenu(anchor, "More", [
      { label: "Account", onClick: open("/settings/account") },
      { label: "Connected apps", onClick: open("/settings/apps") },
      { label: "Subscriptions", onClick: open("/settings/subscriptions") },
      { label: "Developers", onClick: open("/developers") },
      { label: "Log out", icon: "leave", danger: true, onClick: () => logOut() },
    ]);
  }
}

/** Submit the same logout form as the button on every page. */
function logOut() {
  const token = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=hubbub-client]")).dataset.formToken;
  const form = h(
    "form",
    { method: "post", action: "/logout", hidden: true },
    h("input", { type: "hidden", name: "form_token", value: token }),
  );
  document.body.append(form);
  form.submit();
}

customElements.define("hubbub-account-panel", AccountPanel);
