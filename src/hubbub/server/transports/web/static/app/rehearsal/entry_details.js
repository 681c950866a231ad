/** The details of an entry of the traffic: payloads, recipients, cause, copies and replay. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { jsonTree } from "./json_tree.js";
import { controlButton, attempt, report } from "./status_line.js";

/** Formats of a copied request by the name of their field in `copies`, with the labels of their buttons. */
const COPY_FORMATS = [
  ["curl", "Copy as curl"],
  ["python", "Copy as Python test"],
  ["javascript", "Copy as JavaScript test"],
];

/** The pane beside the timeline. */
export class EntryDetails {
  #world;
  #onOpen;
  #findRelated;
  #revealsSecrets = false;
  #entryId = null;

  /**
   * @param {any} world names of the world
   * @param {(entry: any) => void} onOpen opens another entry
   * @param {(entry: any) => any[]} findRelated returns the entries that a request caused, or the request that caused an
   *   entry
   */
  constructor(world, onOpen, findRelated) {
    this.#world = world;
    this.#onOpen = onOpen;
    this.#findRelated = findRelated;
    this.node = h("section", { class: "entry-details", "aria-label": "Details", tabindex: "-1" });
    this.clear();
  }

  clear() {
    this.#entryId = null;
    setChildren(this.node, h("p", { class: "muted empty" }, "Choose an entry to see its payload and recipients."));
  }

  /** Fetch and show the details of an entry. */
  async show(entryId) {
    this.#entryId = entryId;
    await attempt(async () => {
      const details = await callControl("GET", `/traffic/${entryId}?reveal=${this.#revealsSecrets}`);
      if (this.#entryId === entryId) this.#draw(details);
    });
  }

  #draw(details) {
    const { entry } = details;
    setChildren(
      this.node,
      h("h2", null, entry.summary),
      this.#facts(details),
      this.#actions(details),
      details.cause && h("p", { class: "notice warning" }, details.cause),
      this.#related(entry),
      details.outcomes.length > 0 && this.#recipients(details.outcomes),
      h("h3", null, details.method ? "Request" : "Payload"),
      headerList(details.request.headers),
      jsonTree(details.request.body),
      details.response && [
        h("h3", null, "Response"),
        headerList(details.response.headers),
        jsonTree(details.response.body),
      ],
    );
  }

  #facts({ entry, method, path }) {
    const facts = [
      ["Time", entry.at],
      ["Sender", entry.user_id && this.#world.nameOf(entry.user_id)],
      ["Path", path && `${method} ${path}`],
      ["Status", entry.status],
      ["Duration", entry.milliseconds === null ? null : `${entry.milliseconds} ms`],
      ["Guild", entry.guild_id && this.#world.nameOf(entry.guild_id)],
      ["Channel", entry.channel_id && this.#world.nameOf(entry.channel_id)],
      ["Rate limit", entry.rate_limit && `${entry.rate_limit.remaining} of ${entry.rate_limit.limit} left`],
      ["Note", entry.note],
    ];
    return h(
      "dl",
      { class: "small" },
      facts.filter(([, value]) => value).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
    );
  }

  #actions({ entry, can_replay: canReplay, copies }) {
    const shownCopy = h("pre", { class: "payload copied", tabindex: "0", hidden: true });
    const secrets = h("input", {
      type: "checkbox",
      checked: this.#revealsSecrets,
      onchange: () => {
        this.#revealsSecrets = secrets.checked;
        this.show(entry.id);
      },
    });
    return h(
      "div",
      { class: "entry-actions" },
      canReplay && controlButton("Replay", () => replay(entry), { style: "" }),
      COPY_FORMATS.filter(([name]) => copies[name]).map(([name, label]) =>
        controlButton(label, () => copyText(copies[name], shownCopy), { message: "Copied." }),
      ),
      h("label", { class: "inline" }, secrets, "Show secrets"),
      shownCopy,
    );
  }

  #related(entry) {
    const relatedEntries = this.#findRelated(entry);
    if (relatedEntries.length === 0) return null;
    return [
      h("h3", null, entry.request_id ? "Caused" : "Caused by"),
      h(
        "ul",
        { class: "related" },
        relatedEntries.map(other =>
          h(
            "li",
            null,
            h("button", { type: "button", class: "link", onclick: () => this.#onOpen(other) }, other.summary),
          ),
        ),
      ),
    ];
  }

  #recipients(outcomes) {
    return [
      h("h3", null, "Recipients"),
      h(
        "div",
        { class: "table" },
        h(
          "table",
          { class: "recipients small" },
          h(
            "thead",
            null,
            h("tr", null, h("th", { scope: "col" }, "Session of"), h("th", { scope: "col" }, "Outcome")),
          ),
          h(
            "tbody",
            null,
            outcomes.map(({ name, outcome }) =>
              h(
                "tr",
                { class: outcome.startsWith("delivered") ? "" : "missed" },
                h("td", null, name),
                h("td", null, outcome),
              ),
            ),
          ),
        ),
      ),
    ];
  }
}

function headerList(headers) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return h(
    "details",
    { class: "header-list small" },
    h("summary", null, `Headers (${entries.length})`),
    h(
      "dl",
      null,
      entries.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
    ),
  );
}

async function replay(entry) {
  const { status } = await callControl("POST", `/traffic/${entry.id}/replay`);
  report(status === null ? `${entry.summary} was published again.` : `${entry.summary} responded with ${status}.`);
}

/** Show a text and copy it; throw an error if the browser does not allow access to the clipboard. */
async function copyText(text, shownCopy) {
  shownCopy.textContent = text;
  shownCopy.hidden = false;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Error("The browser does not allow access to the clipboard. Copy the text below the buttons.");
  }
}
