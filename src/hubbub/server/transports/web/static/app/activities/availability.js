/** The origin of activities on this server, and whether they are enabled. */

/** Return the origin of activities, with `*` in place of the application ID; empty if activities are disabled. */
export const proxyOrigin = () => document.querySelector("meta[name=hubbub-client]")?.dataset.activities ?? "";

/** Return whether this server can show activities. */
export const activitiesEnabled = () => proxyOrigin() !== "";
