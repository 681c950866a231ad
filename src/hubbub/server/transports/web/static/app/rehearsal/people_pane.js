/** The pane with the users of the world, which opens the chat client as one user, or as two users side by side. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton, labeled, report } from "./status_line.js";

/** The users of the world, and the windows of their chat clients. */
export class PeoplePane {
  #world;
  #list;
  #left;
  #right;

  constructor(world) {
    this.#world = world;
    this.#list = h("ul", { class: "rows people" });
    this.#left = h("select");
    this.#right = h("select");
    this.node = h(
      "div",
      { class: "pane-content" },
      h("h1", null, "People"),
      h(
        "p",
        { class: "muted" },
        "Opens the chat client in a window for each person. Each window has its own host name, so both stay logged in.",
      ),
      h(
        "div",
        { class: "row" },
        labeled("Left window", this.#left),
        labeled("Right window", this.#right),
        controlButton("Open side by side", () => this.#openBoth(), { kind: "" }),
      ),
      this.#list,
    );
  }

  async show() {
    await this.#world.load();
    const people = this.#world.users.filter(user => !user.bot);
    for (const [position, select] of [this.#left, this.#right].entries()) {
      const chosenName = select.value || people[position]?.name || "";
      select.replaceChildren(...people.map(user => h("option", { value: user.name }, user.name)));
      select.value = chosenName;
    }
    setChildren(
      this.#list,
      this.#world.users.map(user =>
        h(
          "li",
          null,
          h("span", { class: "grow" }, h("strong", null, user.name), user.bot ? " bot" : ""),
          h("span", { class: `tag ${user.connected ? "" : "muted"}` }, user.connected ? "connected" : "offline"),
          !user.bot && controlButton(`Open as ${user.name}`, () => openWindow(user.name, "")),
        ),
      ),
    );
  }

  async #openBoth() {
    const width = Math.floor(screen.availWidth / 2),
      height = screen.availHeight;
    await openWindow(this.#left.value, `popup,left=0,top=0,width=${width},height=${height}`);
    await openWindow(this.#right.value, `popup,left=${width},top=0,width=${width},height=${height}`);
  }
}

/** Open the chat client as a user. The window is opened first, because browsers block windows that open later. */
async function openWindow(name, features) {
  const target = window.open("about:blank", `hubbub-${name}`, features);
  if (target === null) throw new Error("The browser blocked the window. Allow pop-ups for this page.");
  try {
    const { url } = await callControl("POST", `/people/${encodeURIComponent(name)}/windows`);
    target.location.href = url;
    report(`The chat client of ${name} is open.`);
  } catch (error) {
    target.close();
    throw error;
  }
}
