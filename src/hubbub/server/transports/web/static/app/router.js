/** Where the person is: `/app`, `/app/channels/@me/1`, `/app/channels/2/3/4`. Every place has the address it had without script. */

const PLACE = /^\/app\/channels\/(@me|\d{1,19})(?:\/(\d{1,19})(?:\/(\d{1,19}))?)?\/?$/;

/**
 * @typedef {{guildId: string | null, channelId: string | null, messageId: string | null}} Place
 */

/** Dispatches `CustomEvent("place", {detail: Place})` whenever the person goes somewhere. */
export class Router extends EventTarget {
  constructor() {
    super();
    window.addEventListener("popstate", () => this.#tell());
    // Links to places of ours stay inside; all others, and those with a key held, are the browser's.
    document.addEventListener("click", event => {
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
      if (link === null || link.hasAttribute("download") || link.getAttribute("target")) return;
      const address = new URL(link.getAttribute("href"), location.href);
      if (address.origin !== location.origin || (address.pathname !== "/app" && !PLACE.test(address.pathname))) return;
      event.preventDefault();
      this.go(address.pathname);
    });
  }

  /** @returns {Place} */
  get place() {
    const found = PLACE.exec(location.pathname);
    const guild = found?.[1];
    return { guildId: guild && guild !== "@me" ? guild : null, channelId: found?.[2] ?? null, messageId: found?.[3] ?? null };
  }

  /** See another place; the one we are at already is told again. */
  go(path, { instead = false } = {}) {
    if (path !== location.pathname) history[instead ? "replaceState" : "pushState"](null, "", path);
    this.#tell();
  }

  /** Change the address only. */
  rename(path) {
    if (path !== location.pathname) history.replaceState(null, "", path);
  }

  #tell() {
    this.dispatchEvent(new CustomEvent("place", { detail: this.place }));
  }
}

/** The path of a channel. */
export function pathOf(channel, messageId) {
  const path = `/app/channels/${channel.guild_id ?? "@me"}/${channel.id}`;
  return messageId ? `${path}/${messageId}` : path;
}
