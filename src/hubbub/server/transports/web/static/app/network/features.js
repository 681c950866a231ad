/** Features that the operators of the server can disable. */

/**
 * Return a text with the reason why a feature is disabled, or null if it is enabled or the server does not respond.
 *
 * @param {{request: (method: string, path: string) => Promise<any>}} api
 * @param {"registration" | "guild_creation" | "uploads" | "voice" | "applications" | "push" | "link_previews"} name
 * @param {string} sentence names the action that the user cannot perform
 * @returns {Promise<string | null>}
 */
export async function findFeatureObstacle(api, name, sentence) {
  try {
    const features = await api.request("GET", "/features");
    const feature = features.find(entry => entry.name === name);
    if (feature === undefined || feature.enabled) return null;
    return feature.message === null ? sentence : `${sentence} ${feature.message}`;
  } catch {
    // Without the list, the request itself fails with the reason.
    return null;
  }
}
