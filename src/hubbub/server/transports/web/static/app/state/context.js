/**
 * The objects that the parts of the client share.
 *
 * @typedef {object} Context
 * @property {import("../network/api.js").Api} api
 * @property {import("../network/gateway.js").Gateway} gateway
 * @property {import("./state.js").State} state
 * @property {any} me the current user
 * @property {string | null} channelId the channel in view
 * @property {string | null} guildId the guild in view; null for private channels
 * @property {string} webUrl the server's public URL
 * @property {Set<string>} visits the channels that were in view, the most recent last
 * @property {Set<"members" | "search">} openPanes the panes beside or over the view that are open
 * @property {(path: string) => void} go navigates to a path of the client
 */

/**
 * Return the context, which modules share; the channel in view changes with navigation.
 *
 * @returns {Context}
 */
export function createContext({ api, gateway, state, webUrl, go }) {
  return {
    api,
    gateway,
    state,
    webUrl,
    go,
    channelId: null,
    guildId: null,
    visits: new Set(),
    openPanes: new Set(),
    get me() {
      return state.me;
    },
  };
}

/** Return the context bound to one channel, for parts that must not follow navigation. */
export function bindToChannel(context, channelId) {
  const channel = context.state.channels.get(channelId);
  return Object.create(context, {
    channelId: { value: channelId, enumerable: true },
    guildId: { value: channel?.guild_id ?? null, enumerable: true },
  });
}
