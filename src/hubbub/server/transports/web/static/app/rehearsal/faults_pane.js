/** The Faults pane: buttons for common faults, a form for HTTP faults, and the list of active faults. */

import { CloseCode } from "../generated/enums.js";
import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton, attempt, labeled, report } from "./status_line.js";

const PRESETS = [
  ["Reject every request with 503", { transport: "http", effect: "status", status: 503, times: null }],
  ["Rate limit every request", { transport: "http", effect: "status", status: 429, retry_after: 2, times: null }],
  ["Delay every response by 2 s", { transport: "http", effect: "delay", delay_ms: 2000, times: null }],
  ["Drop the next response", { transport: "http", effect: "drop", moment: "after" }],
  [
    "Reject the next Identify",
    { transport: "gateway", effect: "close", code: CloseCode.RATE_LIMITED, moment: "identify" },
  ],
  ["Close all gateway sessions", { transport: "gateway", effect: "close", code: CloseCode.UNKNOWN_ERROR }],
  ["Invalidate all gateway sessions", { transport: "gateway", effect: "invalid_session" }],
];

export class FaultsPane {
  #world;
  #list;
  #user;
  #effect;
  #route;
  #status;
  #times;

  constructor(world) {
    this.#world = world;
    this.#list = h("ul", { class: "rows" });
    this.#user = h("select");
    this.#effect = h(
      "select",
      null,
      ["status", "delay", "drop"].map(effect => h("option", { value: effect }, effect)),
    );
    this.#route = h("input", { placeholder: "POST /channels/{channel_id}/messages" });
    this.#status = h("input", { type: "number", min: "400", max: "599", value: "503" });
    this.#times = h("input", { type: "number", min: "1", placeholder: "always" });
    this.node = h(
      "div",
      { class: "pane-content" },
      h("h1", null, "Faults"),
      h(
        "div",
        { class: "row" },
        PRESETS.map(([label, fault]) => controlButton(label, () => this.#add(fault))),
      ),
      h(
        "form",
        {
          class: "row fault-form",
          onsubmit: event => {
            event.preventDefault();
            attempt(() => this.#add(this.#read()));
          },
        },
        labeled("Effect", this.#effect),
        labeled("Route", this.#route),
        labeled("User", this.#user),
        labeled("Status", this.#status),
        labeled("Times", this.#times),
        h("button", { type: "submit", class: "button small" }, "Add fault"),
      ),
      h("h2", null, "Active faults"),
      this.#list,
    );
  }

  async show() {
    await this.#world.load();
    this.#user.replaceChildren(
      h("option", { value: "" }, "All"),
      ...this.#world.users.map(user => h("option", { value: user.id }, user.name)),
    );
    await this.#refresh();
  }

  #read() {
    const [method, route] = this.#route.value.trim().split(/\s+/);
    const fault = { transport: "http", effect: this.#effect.value, times: Number(this.#times.value) || null };
    if (this.#effect.value === "status") fault.status = Number(this.#status.value);
    if (method) fault.method = method;
    if (route) fault.route = route;
    if (this.#user.value) fault.user_id = this.#user.value;
    return fault;
  }

  async #add(fault) {
    const { affected_sessions: sessions, active_fault: active } = await callControl("POST", "/faults", fault);
    report(active === null ? `The fault was applied to ${sessions} sessions.` : "The fault is active.");
    await this.#refresh();
  }

  async #refresh() {
    const faults = await callControl("GET", "/faults");
    setChildren(
      this.#list,
      faults.length === 0 && h("li", { class: "muted" }, "No fault is active."),
      faults.map(({ id, fault, occurrences, remaining_occurrences: remaining }) =>
        h(
          "li",
          null,
          h("span", { class: "grow" }, this.#describe(fault)),
          h(
            "span",
            { class: "muted small" },
            `applied ${occurrences} times, ${remaining === null ? "until removed" : `${remaining} left`}`,
          ),
          controlButton("Remove", async () => {
            await callControl("DELETE", `/faults/${id}`);
            await this.#refresh();
          }),
        ),
      ),
    );
  }

  #describe(fault) {
    const target =
      [fault.method, fault.route].filter(Boolean).join(" ") ||
      (fault.transport === "http" ? "all requests" : "sessions");
    const user = fault.user_id ? ` of ${this.#world.nameOf(fault.user_id)}` : "";
    const effect = {
      status: `status ${fault.status}`,
      delay: `delay ${fault.delay_ms} ms`,
      close: `close ${fault.code}`,
    }[fault.effect];
    return `${fault.transport}: ${effect ?? fault.effect.replace("_", " ")}, ${target}${user}`;
  }
}
