/**
 * What the parts of the client are given: how to ask, how to hear, what is known, who is here and where they are.
 *
 * @typedef {object} Context
 * @property {import("./api.js").Api} api
 * @property {import("./gateway.js").Gateway} gateway
 * @property {import("./state.js").State} state
 * @property {any} me the user
 * @property {string | null} channelId the channel in view
 * @property {string | null} guildId the guild in view; null among private channels
 * @property {string} web where the platform is reached publicly
 * @property {(path: string) => void} go see another place of the client
 */

/** @returns {Context} */
export function makeContext({ api, gateway, state, web, go }) {
  return {
    api,
    gateway,
    state,
    web,
    go,
    channelId: null,
    guildId: null,
    get me() {
      return state.me;
    },
  };
}

/** The same context, held to one channel: what is built for it stays there when the person goes on. */
export function at(context, channelId) {
  const channel = context.state.channels.get(channelId);
  return Object.create(context, {
    channelId: { value: channelId, enumerable: true },
    guildId: { value: channel?.guild_id ?? null, enumerable: true },
  });
}

/** Call `react` soon after a change of one of these kinds, once for many; answers a function that ends it. */
export function watch(state, kinds, react) {
  let waiting = false;
  const wanted = new Set([...kinds, "ready"]);
  const hear = ({ detail }) => {
    if (waiting || !wanted.has(detail.kind)) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      react();
    });
  };
  state.addEventListener("change", hear);
  return () => state.removeEventListener("change", hear);
}
