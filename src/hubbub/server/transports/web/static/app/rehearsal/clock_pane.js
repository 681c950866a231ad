/** The pane that freezes, advances and sets the clock, with a slider over the dated changes. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton, attempt, labeled } from "./status_line.js";

const SECOND_MS = 1000,
  MINUTE_MS = 60 * SECOND_MS,
  HOUR_MS = 60 * MINUTE_MS,
  DAY_MS = 24 * HOUR_MS;
const STEPS = [
  ["+ 10 seconds", 10 * SECOND_MS],
  ["+ 1 minute", MINUTE_MS],
  ["+ 15 minutes", 15 * MINUTE_MS],
  ["+ 1 hour", HOUR_MS],
  ["+ 1 day", DAY_MS],
  ["+ 30 days", 30 * DAY_MS],
];
const REFRESH_MS = 1000;

export class ClockPane {
  #state;
  #freezeButton;
  #slider;
  #sliderText;
  #datedChanges = [];
  #datedChangeList;
  #timeInput;

  constructor() {
    this.#state = h("p", { class: "clock-state" });
    this.#freezeButton = h(
      "button",
      { type: "button", class: "button small", onclick: () => this.#toggleFreeze() },
      "Freeze",
    );
    this.#timeInput = h("input", { type: "datetime-local", step: "1" });
    this.#sliderText = h("output", { class: "small" });
    this.#slider = h("input", {
      type: "range",
      min: "0",
      max: "0",
      step: "1",
      oninput: () => this.#describeSlider(),
    });
    this.#datedChangeList = h("ol", { class: "rows changes", tabindex: "0", "aria-label": "Dated changes" });
    this.node = h(
      "div",
      { class: "pane-content" },
      h("h1", null, "Clock"),
      this.#state,
      h(
        "div",
        { class: "row" },
        this.#freezeButton,
        STEPS.map(([label, ms]) => controlButton(label, () => this.#changeClock("/clock/advance", { ms }))),
      ),
      h(
        "form",
        {
          class: "row",
          onsubmit: event => {
            event.preventDefault();
            attempt(() => this.#changeClock("/clock/set", { now: `${this.#timeInput.value}Z` }));
          },
        },
        labeled("Time (UTC)", this.#timeInput),
        h("button", { type: "submit", class: "button small quiet" }, "Set time"),
      ),
      h("h2", null, "Dated changes"),
      h("p", { class: "muted" }, "Move the slider to a change, and set the clock to the second before or after it."),
      labeled("Change", this.#slider),
      this.#sliderText,
      h(
        "div",
        { class: "row" },
        controlButton("Just before", () => this.#setTo(-SECOND_MS)),
        controlButton("Just after", () => this.#setTo(0)),
      ),
      this.#datedChangeList,
    );
    setInterval(() => this.node.isConnected && this.#refreshClock().catch(() => {}), REFRESH_MS);
  }

  async show() {
    await this.#refreshClock();
    await this.#refreshDatedChanges();
    const next = this.#datedChanges.findIndex(change => !change.active);
    this.#slider.value = String(next < 0 ? this.#datedChanges.length - 1 : next);
    this.#describeSlider();
  }

  async #refreshClock() {
    this.#drawState(await callControl("GET", "/clock"));
  }

  #drawState(clock) {
    this.#state.textContent = `${clock.now.slice(0, 19).replace("T", " ")} UTC, ${clock.running ? "running" : "frozen"}`;
    this.#freezeButton.textContent = clock.running ? "Freeze" : "Resume";
    this.#freezeButton.dataset.path = clock.running ? "/clock/freeze" : "/clock/resume";
  }

  async #toggleFreeze() {
    await attempt(async () => this.#drawState(await callControl("POST", this.#freezeButton.dataset.path)));
  }

  async #changeClock(path, body) {
    this.#drawState(await callControl("POST", path, body));
    await this.#refreshDatedChanges();
  }

  async #refreshDatedChanges() {
    this.#datedChanges = await callControl("GET", "/changes");
    this.#slider.max = String(this.#datedChanges.length - 1);
    setChildren(
      this.#datedChangeList,
      this.#datedChanges.map(change =>
        h(
          "li",
          { class: change.active ? "" : "muted" },
          h("span", null, change.at.slice(0, 10)),
          h("span", { class: "grow" }, formatCode(change.after)),
          h("span", { class: "tag" }, change.active ? "in effect" : "later"),
        ),
      ),
    );
  }

  get #chosenDatedChange() {
    return this.#datedChanges[Number(this.#slider.value)];
  }

  #describeSlider() {
    const change = this.#chosenDatedChange;
    if (change === undefined) return;
    const text = `${change.at.slice(0, 10)}: ${change.after}`;
    setChildren(this.#sliderText, formatCode(text));
    this.#slider.setAttribute("aria-valuetext", text.replaceAll("`", ""));
  }

  /** Set the clock to the time of the chosen change plus `offsetMs`. */
  async #setTo(offsetMs) {
    const now = new Date(this.#chosenDatedChange.at_ms + offsetMs).toISOString();
    await this.#changeClock("/clock/set", { now });
  }
}

/** Return the parts of a text, in which backticks mark code. */
function formatCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", null, part) : part));
}
