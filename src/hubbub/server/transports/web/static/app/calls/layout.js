/** The layout of a call: a grid of equal tiles, or one large tile above the others. */

/** @typedef {"auto" | "grid" | "speaker"} LayoutMode */

class CallLayout {
  /** The user's choice; `auto` enlarges a shared screen. @type {LayoutMode} */
  mode = "auto";
  /** ID of the user whose tile is large until it is unpinned, or null. @type {string | null} */
  pinnedId = null;
  /** @type {string | null} */
  #lastSpeakerId = null;

  /**
   * Return the ID of the user with the large tile, or null for a grid.
   *
   * @param {{call: import("../voice/call.js").Call | null, video: {type: string | null}}} calls
   * @param {string[]} userIds users in the call
   * @param {string} ownId
   */
  mainId({ call, video }, userIds, ownId) {
    if (this.mode === "grid" || userIds.length < 2) return null;
    const isPresent = id => id !== null && userIds.includes(id);
    if (isPresent(this.pinnedId)) return this.pinnedId;
    const videos = call?.videos ?? new Map();
    const screenId = userIds.find(id => videos.get(id)?.type === "screen" && !call?.unwatched.has(id)) ?? null;
    if (screenId !== null) return screenId;
    if (this.mode === "auto") return video.type === "screen" ? ownId : null;
    this.#followSpeaker(call?.speakingIds ?? new Set(), userIds, ownId);
    if (isPresent(this.#lastSpeakerId)) return this.#lastSpeakerId;
    return userIds.find(id => videos.has(id)) ?? userIds.find(id => id !== ownId) ?? null;
  }

  /** Remember the last speaker. A speaker keeps the large tile while they speak. */
  #followSpeaker(speakingIds, userIds, ownId) {
    if (this.#lastSpeakerId !== null && speakingIds.has(this.#lastSpeakerId)) return;
    this.#lastSpeakerId = userIds.find(id => id !== ownId && speakingIds.has(id)) ?? this.#lastSpeakerId;
  }
}

/** @type {WeakMap<object, CallLayout>} */
const layoutsByState = new WeakMap();

/** Return the layout of the client's calls. @returns {CallLayout} */
export function getLayout(context) {
  let layout = layoutsByState.get(context.state);
  if (layout === undefined) {
    layout = new CallLayout();
    layoutsByState.set(context.state, layout);
  }
  return layout;
}

/** Change the mode or the pinned user of the layout, and redraw the call. */
export function changeLayout(context, changes) {
  Object.assign(getLayout(context), changes);
  context.state.emitChange("call");
}

/** Return whether the browser can show an element on the whole screen. */
export function canFullscreen() {
  return document.fullscreenEnabled ?? false;
}

/** Show an element on the whole screen, or leave full screen if it is shown. */
export async function toggleFullscreen(element) {
  if (document.fullscreenElement === element) await document.exitFullscreen();
  else await element.requestFullscreen();
}
