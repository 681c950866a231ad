/** The Rate limits pane: the budget of each route and caller after the latest request, and the requests over a limit. */

import { h, setChildren } from "../ui/dom.js";
import { callControl } from "./control_client.js";
import { controlButton } from "./status_line.js";

export class LimitsPane {
  #world;
  #tableBody;
  #refusalList;

  constructor(world) {
    this.#world = world;
    this.#tableBody = h("tbody");
    this.#refusalList = h("ul", { class: "rows" });
    this.node = h(
      "div",
      { class: "pane-content wide" },
      h("h1", null, "Rate limits"),
      h(
        "div",
        { class: "row" },
        controlButton("Refresh", () => this.show()),
      ),
      h(
        "div",
        { class: "table" },
        h(
          "table",
          { class: "limits" },
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              ["Route", "Caller", "Requests", "Budget left"].map(title => h("th", { scope: "col" }, title)),
            ),
          ),
          this.#tableBody,
        ),
      ),
      h("h2", null, "Requests over a limit"),
      this.#refusalList,
    );
  }

  /** Load the traffic and the report, and draw both. */
  async show() {
    await this.#world.load();
    const [entries, report] = await Promise.all([
      callControl("GET", "/traffic?kinds=http,webhook,interaction"),
      callControl("GET", "/rate-limits"),
    ]);
    const budgets = new Map();
    // Entries are oldest first, so the latest one of each key remains.
    for (const entry of entries.filter(({ rate_limit: rateLimit }) => rateLimit !== null)) {
      const key = `${entry.summary} ${entry.user_id} ${entry.rate_limit.bucket}`;
      budgets.set(key, { entry, count: (budgets.get(key)?.count ?? 0) + 1 });
    }
    setChildren(
      this.#tableBody,
      budgets.size === 0 &&
        h("tr", null, h("td", { colspan: "4", class: "muted" }, "No request with a rate limit yet.")),
      [...budgets.values()].map(({ entry, count }) => this.#row(entry, count)),
    );
    setChildren(
      this.#refusalList,
      report.refusals.length === 0 && h("li", { class: "muted" }, "No request was over a limit."),
      report.refusals.map(refusal =>
        h(
          "li",
          null,
          h("span", { class: "grow" }, `${refusal.name} (${refusal.scope}), ${this.#world.nameOf(refusal.caller)}`),
          h("span", { class: "tag" }, `${refusal.refused ? "rejected" : "would be rejected"} ${refusal.times} times`),
        ),
      ),
    );
  }

  #row(entry, count) {
    const { remaining, limit, reset_after: resetAfter } = entry.rate_limit;
    return h(
      "tr",
      null,
      h("td", null, entry.summary),
      h("td", null, entry.user_id ? this.#world.nameOf(entry.user_id) : ""),
      h("td", null, count),
      h(
        "td",
        null,
        h("meter", { min: "0", max: limit, value: remaining, low: Math.ceil(limit / 4), "aria-label": "Budget left" }),
        ` ${remaining} of ${limit}, reset after ${resetAfter} s`,
      ),
    );
  }
}
