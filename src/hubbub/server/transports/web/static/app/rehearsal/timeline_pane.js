/** The pane with the timeline of the traffic: filters, the list of entries, and the details of one. */

import { h } from "../ui/dom.js";
import { VirtualList } from "../ui/virtual_list.js";
import { TrafficStream, callControl } from "./control_client.js";
import { EntryDetails } from "./entry_details.js";
import { controlButton, labeled, report } from "./status_line.js";

const ENTRIES_MAX = 10000;
const ROW_PX = 32;
const KINDS = ["http", "gateway", "interaction", "webhook", "voice", "control"];
/** Time after the last key press before a filter is applied. */
const FILTER_DELAY_MS = 250;

export class TimelinePane {
  #world;
  #entries = [];
  #stream = null;
  #selectedId = null;
  #isPaused = false;
  #isDrawScheduled = false;
  #filterTimer = 0;
  #onState;

  constructor(world, onState) {
    this.#world = world;
    this.#onState = onState;
    this.#details = new EntryDetails(
      world,
      entry => this.#open(entry),
      entry => this.#findRelated(entry),
    );
    this.#scroller = h("div", { class: "timeline-scroller" });
    this.#list = new VirtualList(this.#scroller, { class: "timeline", "aria-label": "Traffic" });
    this.#scroller.append(this.#list.node);
    this.#count = h("p", { class: "muted small" });
    this.node = h(
      "div",
      { class: "timeline-pane" },
      h("h1", { class: "visually-hidden" }, "Traffic"),
      this.#filters(),
      h("div", { class: "timeline-column" }, this.#count, this.#scroller),
      this.#details.node,
    );
    world.addEventListener("change", () => this.#drawUserChoices());
    this.#drawUserChoices();
    this.#restart();
  }

  #details;
  #scroller;
  #list;
  #count;
  #text;
  #user;
  #failedCheckbox;
  #kindBoxes;

  show() {
    this.#draw();
  }

  #filters() {
    const applyFilters = () => this.#restart();
    this.#text = h("input", {
      type: "search",
      placeholder: "Route or event",
      oninput: () => {
        clearTimeout(this.#filterTimer);
        this.#filterTimer = setTimeout(applyFilters, FILTER_DELAY_MS);
      },
    });
    this.#user = h("select", { onchange: applyFilters });
    this.#failedCheckbox = h("input", { type: "checkbox", onchange: applyFilters });
    this.#kindBoxes = KINDS.map(kind =>
      h("input", { type: "checkbox", value: kind, checked: true, onchange: applyFilters }),
    );
    const pause = h(
      "button",
      {
        type: "button",
        class: "button small quiet",
        "aria-pressed": "false",
        onclick: () => {
          this.#isPaused = !this.#isPaused;
          pause.setAttribute("aria-pressed", String(this.#isPaused));
          if (!this.#isPaused) this.#draw();
        },
      },
      "Pause",
    );
    return h(
      "form",
      { class: "filters", role: "search", onsubmit: event => event.preventDefault() },
      labeled("Filter", this.#text),
      labeled("User", this.#user),
      h(
        "fieldset",
        { class: "kinds" },
        h("legend", { class: "visually-hidden" }, "Kinds"),
        this.#kindBoxes.map(box => h("label", { class: "inline" }, box, box.value)),
      ),
      h("label", { class: "inline" }, this.#failedCheckbox, "Only failures"),
      pause,
      controlButton("Clear", async () => {
        await callControl("DELETE", "/traffic");
        this.#entries = [];
        this.#selectedId = null;
        this.#details.clear();
        this.#draw();
      }),
    );
  }

  #drawUserChoices() {
    const chosenUserId = this.#user.value;
    this.#user.replaceChildren(
      h("option", { value: "" }, "All"),
      ...this.#world.users.map(user => h("option", { value: user.id }, user.name)),
    );
    this.#user.value = chosenUserId;
    this.#draw();
  }

  /** Read the traffic again with the current filters. */
  #restart() {
    this.#stream?.close();
    this.#entries = [];
    const filter = new URLSearchParams();
    const kinds = this.#kindBoxes.filter(box => box.checked).map(box => box.value);
    if (kinds.length < KINDS.length) filter.set("kinds", kinds.join(",") || "none");
    if (this.#text.value.trim()) filter.set("text", this.#text.value.trim());
    if (this.#user.value) filter.set("user_id", this.#user.value);
    if (this.#failedCheckbox.checked) filter.set("failed", "true");
    this.#stream = new TrafficStream(
      filter,
      (entries, missed) => this.#receive(entries, missed),
      isConnected => this.#onState(isConnected),
    );
    this.#draw();
  }

  #receive(entries, missed) {
    if (missed > 0) report(`${missed} entries were removed before this page could read them.`, true);
    this.#entries.push(...entries);
    if (this.#entries.length > ENTRIES_MAX) this.#entries = this.#entries.slice(-ENTRIES_MAX);
    if (entries.some(entry => entry.user_id && this.#world.nameOf(entry.user_id) === entry.user_id)) this.#loadNames();
    if (!this.#isPaused) this.#scheduleDraw();
  }

  #hasRequestedNames = false;

  /** Load the names again, once, if an unknown user appears. */
  #loadNames() {
    if (this.#hasRequestedNames) return;
    this.#hasRequestedNames = true;
    this.#world.load().catch(() => {});
  }

  #scheduleDraw() {
    if (this.#isDrawScheduled) return;
    this.#isDrawScheduled = true;
    requestAnimationFrame(() => {
      this.#isDrawScheduled = false;
      this.#draw();
    });
  }

  #draw() {
    if (!this.#list) return;
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - ROW_PX;
    const count = this.#entries.length;
    this.#count.textContent = count === 1 ? "1 entry" : `${count.toLocaleString("en")} entries`;
    this.#list.entries = this.#entries.map(entry => ({
      key: String(entry.id),
      version: `${entry.id === this.#selectedId} ${entry.user_id ? this.#world.nameOf(entry.user_id) : ""}`,
      height: ROW_PX,
      isFocusable: true,
      build: () => this.#row(entry),
    }));
    if (isAtEnd && !this.#isPaused) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #row(entry) {
    const isFailed = entry.status >= 400 || entry.missed > 0;
    return h(
      "li",
      null,
      h(
        "button",
        {
          type: "button",
          class: `entry ${isFailed ? "failed" : ""}`,
          "aria-current": entry.id === this.#selectedId ? "true" : false,
          onclick: () => this.#open(entry),
        },
        h("span", { class: "entry-time" }, entry.at.slice(11, 23)),
        h("span", { class: `entry-kind kind-${entry.kind}` }, entry.kind),
        h(
          "span",
          { class: "entry-direction", role: "img", "aria-label": entry.direction === "in" ? "received" : "sent" },
          entry.direction === "in" ? "→" : "←",
        ),
        h("span", { class: "entry-actor" }, entry.user_id ? this.#world.nameOf(entry.user_id) : ""),
        h("span", { class: "entry-summary" }, entry.summary),
        h("span", { class: "entry-result" }, describeResult(entry)),
      ),
    );
  }

  #open(entry) {
    this.#selectedId = entry.id;
    this.#draw();
    this.#details.show(entry.id);
  }

  #findRelated(entry) {
    if (entry.request_id) return this.#entries.filter(other => other.cause === entry.request_id);
    return entry.cause ? this.#entries.filter(other => other.request_id === entry.cause) : [];
  }
}

function describeResult(entry) {
  if (entry.delivered !== null)
    return entry.missed > 0 ? `to ${entry.delivered}, not to ${entry.missed}` : `to ${entry.delivered}`;
  const duration = entry.milliseconds === null ? "" : ` · ${entry.milliseconds} ms`;
  return entry.status === null ? (entry.note ?? "") : `${entry.status}${duration}`;
}
