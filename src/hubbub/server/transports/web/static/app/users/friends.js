/** The friends view: friends, requests, blocked users, and a form that sends a friend request. */

import { USERNAME_MAX } from "../generated/limits.js";
import { RelationshipType } from "../network/enums.js";
import { formField, iconButton } from "../ui/controls.js";
import { h, icon, reconcile } from "../ui/dom.js";
import { LayoutPart } from "../ui/layout_part.js";
import { showNotice } from "../ui/notices.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";
import { activityLine } from "../games/activity/text.js";
import { memberMenuHandler, openDirectMessage, openProfile, relationshipButtons } from "./profile.js";

const { FRIEND, BLOCKED, PENDING_INCOMING, PENDING_OUTGOING } = RelationshipType;
const SECTIONS = [
  [t("Incoming requests"), relationship => relationship.type === PENDING_INCOMING],
  [t("Online"), (relationship, state) => relationship.type === FRIEND && state.statusOf(relationship.id) !== "offline"],
  [
    t("Offline"),
    (relationship, state) => relationship.type === FRIEND && state.statusOf(relationship.id) === "offline",
  ],
  [t("Outgoing requests"), relationship => relationship.type === PENDING_OUTGOING],
  [t("Blocked"), relationship => relationship.type === BLOCKED],
];

class Friends extends LayoutPart {
  static kinds = ["relationships", "presences", "guilds"];

  begin() {
    const name = formField(
      t("Add a friend by username"),
      h("input", {
        type: "text",
        maxlength: USERNAME_MAX,
        autocomplete: "off",
        autocapitalize: "off",
        spellcheck: "false",
      }),
    );
    const sendRequest = async event => {
      event.preventDefault();
      name.setError(null);
      const username = name.input.value.trim().replace(/^@/, "");
      if (!username) return;
      try {
        await this.context.api.request("POST", "/users/@me/relationships", { json: { username, discriminator: null } });
        showNotice(t("Friend request sent to {name}.", { name: username }), "done");
        name.input.value = "";
      } catch (error) {
        name.setError(error.userText ?? t("Something went wrong. Try again."));
      }
    };
    this.list = h("div", { class: "friends-list" });
    this.replaceChildren(
      h(
        "header",
        { class: "view-head" },
        h(
          "button",
          {
            type: "button",
            class: "icon-button to-side",
            "aria-label": t("Channels and conversations"),
            onclick: () => this.dispatchEvent(new CustomEvent("show-side", { bubbles: true })),
          },
          icon("menu"),
        ),
        h("h2", { class: "view-title" }, t("Friends")),
      ),
      h(
        "div",
        { class: "friends" },
        h(
          "form",
          { class: "friend-request-form", onsubmit: sendRequest },
          name.node,
          h("button", { type: "submit", class: "button" }, t("Send request")),
        ),
        this.list,
      ),
    );
  }

  draw() {
    const { state } = this.context;
    const relationships = [...state.relationships.values()];
    const sections = SECTIONS.map(([title, matches]) => [
      title,
      relationships.filter(relationship => matches(relationship, state)),
    ]).filter(([, relationships]) => relationships.length);
    const version = ({ id, type, nickname, user }) => {
      const line = activityLine(state.activitiesOf(id));
      return `${id} ${type} ${state.statusOf(id)} ${user?.global_name} ${nickname} ${user?.avatar} ${line}`;
    };
    const entries = sections.map(([title, relationships]) => ({
      key: title,
      version: relationships.map(version).join(),
      build: () =>
        h(
          "section",
          { "aria-label": title },
          h("h3", null, `${title} · ${relationships.length}`),
          h(
            "ul",
            { class: "user-list" },
            relationships.map(relationship => this.#relationshipItem(relationship)),
          ),
        ),
    }));
    if (!entries.length) {
      entries.push({
        key: "none",
        version: "",
        build: () =>
          h(
            "div",
            { class: "empty" },
            h("p", null, t("No friends yet.")),
            h(
              "p",
              { class: "small" },
              t("Send a friend request above, or join a guild with the plus button on the left."),
            ),
          ),
      });
    }
    reconcile(this.list, entries);
  }

  #relationshipItem(relationship) {
    const { context } = this;
    const user = relationship.user ??
      context.state.user(relationship.id) ?? { id: relationship.id, username: t("Unknown user") };
    const name = context.state.displayName(user, null);
    const activities = relationship.type === FRIEND ? context.state.activitiesOf(user.id) : [];
    return h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: "user-button",
          "aria-haspopup": "dialog",
          onclick: () => openProfile(context, user.id),
          oncontextmenu: memberMenuHandler(context, user.id),
        },
        userAvatar(user, name, relationship.type === FRIEND ? context.state.statusOf(user.id) : undefined),
        h(
          "span",
          { class: "tight" },
          h("strong", { dir: "auto" }, name),
          h("span", { class: "muted small", dir: "auto" }, activityLine(activities) || `@${user.username}`),
        ),
      ),
      relationship.type === FRIEND
        ? iconButton("forum", t("Message {name}", { name }), () => openDirectMessage(context, user.id))
        : // The list has no space for the third button, which blocks the sender of a request.
          relationshipButtons(context, user).slice(0, 2),
    );
  }
}

customElements.define("hubbub-friends", Friends);
