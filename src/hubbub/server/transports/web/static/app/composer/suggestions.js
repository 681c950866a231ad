/** Autocomplete in the composer: `@` users and roles, `#` channels, `:` emoji. Names are replaced by mentions on send. */

import { Opcode, Permissions, isMessageable } from "../network/enums.js";
import { h } from "../ui/dom.js";
import { loadModule } from "../ui/lazy_modules.js";
import { insertAtCursor } from "../ui/textarea.js";
import { t } from "../ui/translation.js";
import { userAvatar } from "../content/avatars.js";
import { emojiMention, listGuildEmoji } from "../content/guild_emoji.js";
import { customEmojiImage } from "../content/markdown.js";
import { resolveMentionNames } from "../content/mention_names.js";

const TRIGGER_PATTERN = /(?:^|\s)([@#:])([\p{L}\p{N}_.+-]{0,32})$/u;
const RESULTS_MAX = 8;
const SEARCH_RESULTS_MAX = 20;
const SEARCH_DELAY_MS = 150;
/** Shortest emoji query, so that a text such as ":)" shows no suggestions. */
const EMOJI_QUERY_LENGTH_MIN = 2;
let listCount = 0;

/** The suggestion list of a composer. */
export class Suggestions {
  #composer;
  #context;
  #list;
  #suggestions = [];
  #activeIndex = 0;
  #searchTimer;
  /** Member searches that this composer already sent; their results stay in the state. */
  #searchedQueries = new Set();
  /** The mention of each selected name. @type {Map<string, string>} */
  #mentions = new Map();

  /**
   * `context` belongs to the channel of the composer; `mentions` are pairs of a name and its mention from a stored
   * draft.
   */
  constructor(composer, context, mentions = []) {
    this.#mentions = new Map(mentions);
    this.#composer = composer;
    this.#context = context;
    this.#list = h("ul", {
      class: "suggestions",
      role: "listbox",
      id: `suggestions-${(listCount += 1)}`,
      "aria-label": t("Suggestions"),
      hidden: true,
    });
    composer.node.append(this.#list);
    const { field } = composer;
    field.addEventListener("input", () => this.#update());
    field.addEventListener("blur", () => this.#close());
    const { state } = context;
    // Results of a search arrive as members of the state.
    const onChange = ({ detail }) => {
      if (!composer.node.isConnected) state.removeEventListener("change", onChange);
      else if (detail.kind === "members" && detail.guildId === context.guildId && document.activeElement === field)
        this.#update({ keepsActive: true });
    };
    state.addEventListener("change", onChange);
    composer.node.addEventListener("keydown", event => this.#onKeydown(event), { capture: true });
  }

  /** Selected names and their mentions. @returns {[string, string][]} */
  get mentions() {
    return [...this.#mentions];
  }

  /** Return the text with names replaced by mentions. */
  resolve(text) {
    return resolveMentionNames(text, this.#mentions);
  }

  #update({ keepsActive = false } = {}) {
    const { field } = this.#composer;
    const match =
      field.selectionStart === field.selectionEnd
        ? TRIGGER_PATTERN.exec(field.value.slice(0, field.selectionStart))
        : null;
    const [, trigger, query] = match ?? [];
    if (match === null || (trigger === ":" && query.length < EMOJI_QUERY_LENGTH_MIN)) {
      this.#close();
      return;
    }
    this.#suggestions = SUGGESTION_SOURCES[trigger](this.#context, query.toLowerCase()).slice(0, RESULTS_MAX);
    if (!keepsActive) this.#activeIndex = 0;
    this.#activeIndex = Math.min(this.#activeIndex, Math.max(0, this.#suggestions.length - 1));
    this.#draw();
    if (trigger === "@") this.#searchMembers(query.toLowerCase());
    if (trigger === ":") this.#addUnicodeEmoji(query.toLowerCase());
  }

  async #addUnicodeEmoji(query) {
    const { field } = this.#composer;
    const text = field.value;
    const emojiSuggestions = await suggestUnicodeEmoji(this.#context, query);
    if (field.value !== text || document.activeElement !== field) return;
    this.#suggestions = [...this.#suggestions, ...emojiSuggestions].slice(0, RESULTS_MAX);
    this.#draw();
  }

  /** Request members that are not in the state; for large guilds, the gateway sends only members who are online. */
  #searchMembers(query) {
    const { state, guildId, gateway } = this.#context;
    const isComplete = (state.members.get(guildId)?.size ?? 0) >= (state.guilds.get(guildId)?.member_count ?? 0);
    clearTimeout(this.#searchTimer);
    if (!guildId || !query || isComplete || this.#searchedQueries.has(query)) return;
    this.#searchTimer = setTimeout(() => {
      this.#searchedQueries.add(query);
      gateway.send(Opcode.REQUEST_GUILD_MEMBERS, {
        guild_id: guildId,
        query,
        limit: SEARCH_RESULTS_MAX,
        presences: true,
      });
    }, SEARCH_DELAY_MS);
  }

  #draw() {
    this.#list.hidden = !this.#suggestions.length;
    const { field } = this.#composer;
    const id = index => `${this.#list.id}-${index}`;
    this.#list.replaceChildren(
      ...this.#suggestions.map((suggestion, index) =>
        h(
          "li",
          {
            role: "option",
            id: id(index),
            "aria-selected": String(index === this.#activeIndex),
            onpointerdown: event => {
              event.preventDefault();
              this.#choose(index);
            },
          },
          suggestion.icon,
          h("span", null, suggestion.label),
          suggestion.hint ? h("span", { class: "muted small" }, suggestion.hint) : null,
        ),
      ),
    );
    if (this.#suggestions.length) {
      field.setAttribute("aria-controls", this.#list.id);
      field.setAttribute("aria-activedescendant", id(this.#activeIndex));
    } else field.removeAttribute("aria-activedescendant");
  }

  #close() {
    if (this.#suggestions.length === 0) return;
    this.#suggestions = [];
    this.#draw();
  }

  #onKeydown(event) {
    if (!this.#suggestions.length || event.isComposing) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined)
      this.#activeIndex = (this.#activeIndex + move + this.#suggestions.length) % this.#suggestions.length;
    else if (event.key === "Enter" || event.key === "Tab") this.#choose(this.#activeIndex);
    else if (event.key === "Escape") this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
    if (move !== undefined) this.#draw();
  }

  #choose(index) {
    const { field } = this.#composer;
    const suggestion = this.#suggestions[index];
    const end = field.selectionStart,
      start = end - TRIGGER_PATTERN.exec(field.value.slice(0, end))[0].trimStart().length;
    field.setSelectionRange(start, end);
    if (suggestion.mention !== undefined) this.#mentions.set(suggestion.text, suggestion.mention);
    this.#suggestions = [];
    insertAtCursor(field, `${suggestion.text} `);
  }
}

const matches = (query, ...names) => names.some(name => name?.toLowerCase().includes(query));

/** Functions that return the suggestions for a query, by the character that starts it. */
const SUGGESTION_SOURCES = {
  "@"({ state, guildId, channelId }, query) {
    const channel = state.channels.get(channelId);
    const users = guildId
      ? [...(state.members.get(guildId)?.values() ?? [])].map(member => member.user)
      : (channel?.recipients ?? []);
    const startsWith = user =>
      [user.username, user.global_name, state.displayName(user, guildId)].some(name =>
        name?.toLowerCase().startsWith(query),
      );
    const userSuggestions = users
      .filter(user => matches(query, user.username, user.global_name, state.displayName(user, guildId)))
      .sort((a, b) => startsWith(b) - startsWith(a))
      .slice(0, RESULTS_MAX)
      .map(user => ({
        text: `@${user.username}`,
        mention: `<@${user.id}>`,
        label: state.displayName(user, guildId),
        hint: user.username,
        icon: userAvatar(user, state.displayName(user, guildId)),
      }));
    const roles = (state.guilds.get(guildId)?.roles ?? [])
      .filter(
        role =>
          role.id !== guildId &&
          (role.mentionable || state.can(channelId, Permissions.MENTION_EVERYONE)) &&
          matches(query, role.name),
      )
      .map(role => ({ text: `@${role.name}`, mention: `<@&${role.id}>`, label: `@${role.name}`, hint: t("role") }));
    const everyoneSuggestions =
      guildId && state.can(channelId, Permissions.MENTION_EVERYONE)
        ? ["everyone", "here"]
            .filter(name => matches(query, name))
            .map(name => ({ text: `@${name}`, label: `@${name}` }))
        : [];
    // Leave space for two roles or @everyone and @here.
    return [...userSuggestions.slice(0, RESULTS_MAX - 2), ...roles, ...everyoneSuggestions];
  },
  "#"({ state, guildId }, query) {
    if (!guildId) return [];
    return state
      .channelsOf(guildId)
      .filter(
        channel =>
          isMessageable(channel) && state.can(channel.id, Permissions.VIEW_CHANNEL) && matches(query, channel.name),
      )
      .map(channel => ({ text: `#${channel.name}`, mention: `<#${channel.id}>`, label: `#${channel.name}` }));
  },
  ":"(context, query) {
    const custom = listGuildEmoji(context)
      .flatMap(({ emojis }) => emojis)
      .filter(emoji => matches(query, emoji.name));
    return custom.map(emoji => ({
      text: `:${emoji.name}:`,
      mention: emojiMention(emoji),
      label: `:${emoji.name}:`,
      icon: customEmojiImage(emoji),
    }));
  },
};

/** Return suggestions for Unicode emoji, whose list is loaded on first use. */
async function suggestUnicodeEmoji({ state }, query) {
  const module = await loadModule(() => import("../content/emoji/set.js"));
  if (module === null) return [];
  const matches = module.searchEmoji(await module.loadEmojiSet(), query);
  return matches.slice(0, RESULTS_MAX).map(entry => {
    const emoji = module.withTone(entry, state.settings.emoji_skin_tone ?? 0);
    return { text: emoji, label: `:${entry.name}:`, icon: h("span", { class: "emoji-text" }, emoji) };
  });
}
