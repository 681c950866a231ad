/** The search pane: the field with filters, and the results of a guild, a direct message or a group. */

import { SEARCH_CONTENT_MAX, SEARCH_LIMIT_MAX } from "../../generated/limits.js";
import { Opcode } from "../../network/enums.js";
import { messageErrorText } from "../../state/outbox.js";
import { iconButton } from "../../ui/controls.js";
import { h, icon, setChildren } from "../../ui/dom.js";
import { LayoutPart } from "../../ui/layout_part.js";
import { announce } from "../../ui/live_region.js";
import { OptionList } from "../../ui/option_list.js";
import { t, tn, tNodes } from "../../ui/translation.js";
import { channelTitle } from "../../content/avatars.js";
import { buildMessageResult } from "../../channels/message_results.js";
import { renderAttachments } from "../../messages/attachments.js";
import { buildPageButtons, searchPreparationText } from "../result_pages.js";
import { completeSearch } from "./completion.js";
import { SEARCH_ORDERS, findOpenToken, resolveFilter, searchParameters, splitSearchText } from "./filters.js";

/** Number of times that a search is repeated while the server builds the index, and the maximum delay before each retry. */
const INDEXING_RETRIES_MAX = 6;
const INDEXING_DELAY_MAX_SECONDS = 5;
const MEMBER_SEARCH_DELAY_MS = 150;
const MEMBER_RESULTS_MAX = 20;

class SearchPane extends LayoutPart {
  static kinds = ["route", "members"];
  /** Callback that closes the pane. @type {() => void} */
  onClose = () => {};
  /** Callback that runs when the user opens a result. @type {() => void} */
  onOpen = () => {};
  /** @type {import("./filters.js").SearchFilter[]} */
  #filters = [];
  #requestNumber = 0;
  #memberTimer;
  #requestedNames = new Set();

  begin() {
    const { context } = this,
      { state, guildId, channelId } = context;
    const place = guildId ? state.guilds.get(guildId)?.name : channelTitle(state.channels.get(channelId), state);
    this.field = h("input", {
      type: "search",
      "aria-label": t("Search messages"),
      placeholder: t("Search messages"),
      maxlength: SEARCH_CONTENT_MAX,
      dir: "auto",
      oninput: () => this.#complete(),
      onfocus: () => this.#complete(),
      onblur: () => this.options.close(),
      onkeydown: event => this.#onFieldKey(event),
    });
    this.options = new OptionList(this.field, t("Filters"));
    this.chips = h("ul", { class: "search-chips", "aria-label": t("Filters"), hidden: true });
    this.problem = h("p", { class: "error", role: "alert", hidden: true });
    this.order = h(
      "select",
      { "aria-label": t("Order of results"), onchange: () => this.#search() },
      Object.entries(SEARCH_ORDERS).map(([value, { label }]) => h("option", { value }, label)),
    );
    this.status = h("p", { class: "muted small search-status", role: "status" });
    this.list = h("ol", {
      class: "search-result-list",
      "aria-label": t("Results"),
      onkeydown: event => this.#onListKey(event),
    });
    this.empty = h("div", { class: "search-empty" });
    this.pages = h("nav", { class: "search-pages", "aria-label": t("Pages of results") });
    const submit = event => {
      event.preventDefault();
      this.#search();
    };
    setChildren(
      this,
      h(
        "header",
        { class: "view-head" },
        icon("search"),
        h(
          "div",
          { class: "view-title" },
          h("h2", { dir: "auto" }, t("Search in {place}", { place: place ?? t("this guild") })),
        ),
        iconButton("close", t("Close search"), () => this.onClose()),
      ),
      h(
        "form",
        { class: "search-bar", role: "search", onsubmit: submit },
        h(
          "div",
          { class: "search-row" },
          this.field,
          h("button", { type: "submit", class: "button" }, t("Search")),
          this.options.node,
        ),
        this.chips,
        this.problem,
        h("div", { class: "search-row search-summary" }, this.status, this.order),
      ),
      h("div", { class: "search-results-area" }, this.empty, this.list, this.pages),
    );
    this.addEventListener("keydown", event => this.#onKey(event));
    this.#showHelp();
  }

  end() {
    this.#requestNumber += 1;
    clearTimeout(this.#memberTimer);
  }

  draw() {
    const { pathname } = location;
    for (const link of this.list.querySelectorAll(".search-result-link"))
      link.toggleAttribute("aria-current", link.getAttribute("href") === pathname);
    // Members that were requested for the completion arrive in the state.
    if (document.activeElement === this.field && this.#isNamingUser) this.#complete();
  }

  focusField() {
    this.field.focus();
    this.field.select();
  }

  // Field and filters

  /** Whether the text ends with the name of a user, as the value of `from:` or `mentions:`. */
  get #isNamingUser() {
    const key = findOpenToken(this.field.value)?.key;
    return key === "from" || key === "mentions";
  }

  #complete() {
    const text = this.field.value;
    const textBeforeCursor = text.slice(0, this.field.selectionStart ?? text.length);
    if (textBeforeCursor !== text) {
      this.options.close();
      return;
    }
    const replaceFrom = (start, ending) => {
      this.field.value = text.slice(0, start) + ending;
      this.field.focus();
    };
    const options = completeSearch(this.context, text, {
      complete: (start, ending) => {
        replaceFrom(start, ending);
        this.#complete();
      },
      add: (start, filter) => {
        replaceFrom(start, "");
        this.#addFilter(filter);
        this.#complete();
      },
    });
    // Enter searches, unless the user is writing the value of a filter and it is not complete.
    const { key, value } = findOpenToken(text) ?? {};
    const isComplete = options.some(({ label, hint }) => [label, hint].includes(value));
    this.options.setOptions(options, key && !isComplete ? 0 : -1);
    this.#requestMembers();
  }

  /** Request members that are not in the state; the gateway sends only the members of a large guild who are online. */
  #requestMembers() {
    const { state, guildId, gateway } = this.context;
    clearTimeout(this.#memberTimer);
    const name = this.#isNamingUser ? findOpenToken(this.field.value).value.replace(/^@/, "").toLowerCase() : "";
    const isComplete = (state.members.get(guildId)?.size ?? 0) >= (state.guilds.get(guildId)?.member_count ?? 0);
    if (!guildId || !name || isComplete || this.#requestedNames.has(name)) return;
    this.#memberTimer = setTimeout(() => {
      this.#requestedNames.add(name);
      gateway.send(Opcode.REQUEST_GUILD_MEMBERS, { guild_id: guildId, query: name, limit: MEMBER_RESULTS_MAX });
    }, MEMBER_SEARCH_DELAY_MS);
  }

  #addFilter(filter) {
    const isSame = other => other.key === filter.key && other.value === filter.value;
    // A message is pinned or not; any other filter can be used several times.
    this.#filters = this.#filters.filter(
      other => !isSame(other) && (filter.key !== "pinned" || other.key !== "pinned"),
    );
    this.#filters.push(filter);
    this.#drawChips();
    announce(t("Filter added: {key} {value}", { key: filter.key, value: filter.label }));
  }

  #removeFilter(filter) {
    this.#filters = this.#filters.filter(other => other !== filter);
    this.#drawChips();
    this.field.focus();
    this.#search();
  }

  #drawChips() {
    this.chips.hidden = !this.#filters.length;
    setChildren(
      this.chips,
      this.#filters.map(filter =>
        h(
          "li",
          { class: "search-chip" },
          h("span", { class: "muted" }, `${filter.key}:`),
          h("span", { class: "search-chip-value", dir: "auto" }, filter.label),
          iconButton("close", t("Remove filter {key}: {value}", { key: filter.key, value: filter.label }), () =>
            this.#removeFilter(filter),
          ),
        ),
      ),
    );
  }

  #onFieldKey(event) {
    if (this.options.handleKey(event)) return;
    if (event.key === "Escape" && this.options.isOpen) {
      event.preventDefault();
      event.stopPropagation();
      this.options.close();
    } else if (event.key === "Backspace" && !this.field.value && this.#filters.length)
      this.#removeFilter(this.#filters.at(-1));
    else if (event.key === "ArrowDown" && this.list.firstElementChild) {
      event.preventDefault();
      this.#links[0].focus();
    }
  }

  #onKey(event) {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    this.onClose();
  }

  get #links() {
    return /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll(".search-result-link")]);
  }

  #onListKey(event) {
    const links = this.#links,
      index = links.indexOf(event.target);
    const target = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: links.length - 1 }[event.key];
    if (index < 0 || target === undefined) return;
    event.preventDefault();
    (links[target] ?? (target < 0 ? this.field : links[index])).focus();
  }

  // Search

  /** Add the typed filters, and return the words of the search; null if a filter is invalid. */
  async #readField() {
    const { tokens, words } = splitSearchText(this.field.value);
    this.problem.hidden = true;
    for (const { key, value } of tokens) {
      if (key === "in" && !this.context.guildId) continue;
      const { filter, error } = await resolveFilter(this.context, key, value);
      if (error !== undefined) {
        this.problem.textContent = error;
        this.problem.hidden = false;
        return null;
      }
      this.#addFilter(filter);
    }
    if (tokens.length) this.field.value = words;
    return words;
  }

  async #search(offset = 0) {
    const requestNumber = (this.#requestNumber += 1);
    this.options.close();
    try {
      const words = await this.#readField();
      if (words === null || requestNumber !== this.#requestNumber) return;
      if (!words && !this.#filters.length) {
        this.#clearResults();
        this.#showHelp();
        return;
      }
      this.status.textContent = t("Searching…");
      const query = {
        ...searchParameters(this.context, this.#filters, words, this.order.value),
        limit: SEARCH_LIMIT_MAX,
      };
      const page = await this.#request({ ...query, offset }, requestNumber);
      if (page !== null && requestNumber === this.#requestNumber) this.#showPage(page, offset);
    } catch (error) {
      if (requestNumber !== this.#requestNumber) return;
      this.#clearResults();
      this.#showRetry(messageErrorText(error), offset);
    }
  }

  /**
   * Request a page; while the server builds the index, show its progress and try again. Return null if there is still
   * no page.
   */
  async #request(query, requestNumber) {
    const { api, guildId, channelId } = this.context;
    const search = () =>
      guildId
        ? api.request("GET", `/guilds/${guildId}/messages/search`, { query })
        : api.request("GET", `/channels/${channelId}/messages/search`, { query });
    for (let retries = 0; ; retries += 1) {
      const page = await search();
      if (page.messages !== undefined || requestNumber !== this.#requestNumber) return page;
      this.#clearResults();
      this.status.textContent = searchPreparationText(page.documents_indexed ?? 0);
      if (retries === INDEXING_RETRIES_MAX) {
        this.#showRetry(t("There are many messages, so preparing the search takes longer."), query.offset);
        return null;
      }
      const seconds = Math.min(Number(page.retry_after ?? 1) + retries, INDEXING_DELAY_MAX_SECONDS);
      await new Promise(resolve => setTimeout(resolve, seconds * 1000));
      if (requestNumber !== this.#requestNumber) return null;
    }
  }

  #clearResults() {
    for (const node of [this.list, this.pages, this.empty]) setChildren(node);
    this.status.textContent = "";
  }

  #showHelp() {
    setChildren(
      this.empty,
      h("p", { class: "muted" }, t("Type words, or choose a filter from the list below the field.")),
      h(
        "p",
        { class: "muted small" },
        tNodes("Example: {example}", { example: h("code", null, "from:me has:link during:today") }),
      ),
    );
  }

  #showRetry(text, offset) {
    setChildren(
      this.empty,
      h("p", { class: "muted" }, text),
      h("button", { type: "button", class: "button quiet small", onclick: () => this.#search(offset) }, t("Try again")),
    );
  }

  #showPage(page, offset) {
    const { state, guildId } = this.context;
    this.#clearResults();
    const messages = page.messages.flat();
    for (const message of messages) if (!message.webhook_id) state.storeUser(message.author);
    for (const thread of page.threads ?? [])
      if (!state.channels.has(thread.id)) state.channels.set(thread.id, { ...thread, guild_id: guildId });
    const total = page.total_results;
    this.status.textContent = total ? tn("{count} message", "{count} messages", total) : t("No messages found");
    if (!messages.length) this.#showEmpty(offset);
    setChildren(
      this.list,
      messages.map(message =>
        buildMessageResult(message, this.context, () => this.#onOpen(), {
          details: renderAttachments(message, this.context),
        }),
      ),
    );
    setChildren(
      this.pages,
      buildPageButtons(total, offset, nextOffset => this.#openPage(nextOffset)),
    );
    this.list.parentElement.scrollTop = 0;
    this.draw();
  }

  #onOpen() {
    this.onOpen();
    setTimeout(() => this.draw());
  }

  #showEmpty(offset) {
    const removeAll = () => {
      this.#filters = [];
      this.#drawChips();
      this.field.focus();
      this.#search();
    };
    setChildren(
      this.empty,
      h(
        "p",
        { class: "muted" },
        offset
          ? t("The messages on this page were deleted. Go back to the first page.")
          : this.#filters.length
            ? t("Nothing matches all filters. Check the spelling, or remove a filter.")
            : t("Nothing matches. Check the spelling, or use fewer words."),
      ),
      offset
        ? h("button", { type: "button", class: "button quiet small", onclick: () => this.#search() }, t("First page"))
        : this.#filters.length
          ? h("button", { type: "button", class: "button quiet small", onclick: removeAll }, t("Remove all filters"))
          : null,
    );
  }

  async #openPage(offset) {
    await this.#search(offset);
    this.#links[0]?.focus();
  }
}

customElements.define("hubbub-search", SearchPane);
