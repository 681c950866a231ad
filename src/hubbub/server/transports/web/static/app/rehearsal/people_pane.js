/** The pane with the users of the world, which opens the chat client as one user, or as two users side by side. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton, labeled, report } from "./status_line.js";

/** The users of the world, and the windows of their chat clients. */
export class PeoplePane {
  #world;
  #list;
  #leftSelect;
  #rightSelect;

  constructor(world) {
    this.#world = world;
    this.#list = h("ul", { class: "rows people" });
    this.#leftSelect = h("select");
    this.#rightSelect = h("select");
    this.node = h(
      "div",
      { class: "pane-content" },
      h("h1", null, "People"),
      h(
        "p",
        { class: "muted" },
        "Opens the chat client as one person, or as two people in one window. Each person has a host name, so both stay logged in.",
      ),
      h(
        "div",
        { class: "row" },
        labeled("Left", this.#leftSelect),
        labeled("Right", this.#rightSelect),
        controlButton("Open side by side", () => this.#openBoth(), { style: "" }),
      ),
      this.#list,
    );
  }

  async show() {
    await this.#world.load();
    const people = this.#world.users.filter(user => !user.bot);
    for (const [position, select] of [this.#leftSelect, this.#rightSelect].entries()) {
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
          !user.bot && controlButton(`Open as ${user.name}`, () => openClientAs(user.name)),
        ),
      ),
    );
  }

  async #openBoth() {
    const names = [this.#leftSelect.value, this.#rightSelect.value];
    await openWindow(`hubbub-${names.join("-")}`, async () => {
      const [leftUrl, rightUrl] = await Promise.all(names.map(requestClientUrl));
      const page = new URL("/console/side-by-side", leftUrl);
      page.hostname = page.hostname.slice(page.hostname.indexOf(".") + 1);
      page.search = new URLSearchParams({ left: leftUrl, right: rightUrl });
      return page.href;
    });
    report(`The chat clients of ${names.join(" and ")} are open.`);
  }
}

async function openClientAs(name) {
  await openWindow(`hubbub-${name}`, () => requestClientUrl(name));
  report(`The chat client of ${name} is open.`);
}

async function requestClientUrl(name) {
  const { url } = await callControl("POST", `/people/${encodeURIComponent(name)}/windows`);
  return url;
}

/** Open a window, and load the URL that `createUrl` returns. The window is opened first: browsers allow one window for each
 * click, and block windows that open later. */
async function openWindow(windowName, createUrl) {
  const target = window.open("about:blank", windowName);
  if (target === null) throw new Error("The browser blocked the window. Allow pop-ups for this page.");
  try {
    target.location.href = await createUrl();
  } catch (error) {
    target.close();
    throw error;
  }
}
