/** Client-side routing of `/app`, `/app/channels/@me/1` and `/app/channels/2/3/4`. Pages without script have the same paths. */

const ROUTE_PATTERN = /^\/app\/channels\/(@me|\d{1,19})(?:\/(\d{1,19})(?:\/(\d{1,19}))?)?\/?$/;

/** @typedef {{guildId: string | null, channelId: string | null, messageId: string | null}} Route */

/** The route of the page. Dispatches `CustomEvent("navigate", {detail: Route})` after each navigation. */
export class Router extends EventTarget {
  constructor() {
    super();
    window.addEventListener("popstate", () => this.#emit());
    // Handle clicks on links to the client; other links, and clicks with a modifier key, are left to the browser.
    document.addEventListener("click", event => {
      if (
        event.defaultPrevented ||
        event.button !== 0 ||
        event.metaKey ||
        event.ctrlKey ||
        event.shiftKey ||
        event.altKey
      )
        return;
      const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
      if (link === null || link.hasAttribute("download") || link.getAttribute("target")) return;
      const url = new URL(link.getAttribute("href"), location.href);
      if (url.origin !== location.origin || (url.pathname !== "/app" && !ROUTE_PATTERN.test(url.pathname))) return;
      event.preventDefault();
      this.go(url.pathname);
    });
  }

  /** @returns {Route} */
  get route() {
    const match = ROUTE_PATTERN.exec(location.pathname);
    const guildPart = match?.[1];
    return {
      guildId: guildPart && guildPart !== "@me" ? guildPart : null,
      channelId: match?.[2] ?? null,
      messageId: match?.[3] ?? null,
    };
  }

  /** Navigate to a path, also if it is the current one; `replace` replaces the current history entry. */
  go(path, { replace = false } = {}) {
    if (path !== location.pathname) history[replace ? "replaceState" : "pushState"](null, "", path);
    this.#emit();
  }

  /** Replace the path in the address bar without an event. */
  replaceUrl(path) {
    if (path !== location.pathname) history.replaceState(null, "", path);
  }

  #emit() {
    this.dispatchEvent(new CustomEvent("navigate", { detail: this.route }));
  }
}

/** Return the path of a channel, or of one of its messages if `messageId` is set. */
export function channelPath(channel, messageId) {
  const path = `/app/channels/${channel.guild_id ?? "@me"}/${channel.id}`;
  return messageId ? `${path}/${messageId}` : path;
}
