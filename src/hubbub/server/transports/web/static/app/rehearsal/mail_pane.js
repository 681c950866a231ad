/** The pane with the mail that a rehearsal stores instead of sending it, with a button that deletes it. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton } from "./status_line.js";

export class MailPane {
  #list;

  constructor() {
    this.#list = h("div", { class: "stack" });
    this.node = h(
      "div",
      { class: "pane-content" },
      h("h1", null, "Mail"),
      h("p", { class: "muted" }, "A rehearsal sends no mail and keeps it here."),
      h(
        "div",
        { class: "row" },
        controlButton("Refresh", () => this.show()),
        controlButton("Delete all", async () => {
          await callControl("DELETE", "/mail");
          await this.show();
        }),
      ),
      this.#list,
    );
  }

  async show() {
    const mails = await callControl("GET", "/mail");
    setChildren(
      this.#list,
      mails.length === 0 && h("p", { class: "empty" }, "No mail yet."),
      mails
        .reverse()
        .map(mail =>
          h(
            "details",
            { class: "mail" },
            h(
              "summary",
              null,
              `${mail.subject} `,
              h("span", { class: "muted small" }, `to ${mail.to}, ${mail.sent_at.slice(0, 19).replace("T", " ")}`),
            ),
            h("p", { class: "mail-text" }, mail.text),
            h("p", null, h("a", { href: `/mailbox/${mail.id}`, target: "_blank", rel: "noopener" }, "Open as HTML")),
          ),
        ),
    );
  }
}
