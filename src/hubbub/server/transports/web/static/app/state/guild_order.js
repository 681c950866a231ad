/** The user's order of guilds and their folders, as the settings have them. */

/**
 * @typedef {{id: number | null, guild_ids: string[], name: string | null, color: number | null, collapsed: boolean}} GuildFolder
 *   `id` is null for a guild outside of folders
 */

/** Return the folders and guilds in the order of the list, with guilds that the settings do not have yet at the end. */
export function guildFolders(state) {
  const listedIds = new Set();
  /** @type {GuildFolder[]} */
  const folders = [];
  for (const folder of state.settings.guild_folders ?? []) {
    const ids = folder.guild_ids.filter(id => state.guilds.has(id));
    for (const id of ids) listedIds.add(id);
    if (ids.length) folders.push({ ...folder, guild_ids: ids });
  }
  for (const id of state.guilds.keys()) if (!listedIds.has(id)) folders.push(singleGuild(id));
  return folders;
}

/** Return the entry of a guild outside of folders. @returns {GuildFolder} */
export const singleGuild = guildId => ({ id: null, guild_ids: [guildId], name: null, color: null, collapsed: false });

/** Return the key of an entry in the list: the ID of a guild, or `folder-` and the ID of a folder. */
export const folderKey = folder => (folder.id === null ? folder.guild_ids[0] : `folder-${folder.id}`);

/** Show and store a new order; the old one returns if the server rejects it. */
export async function saveGuildFolders({ api, state }, folders) {
  const previousSettings = state.settings;
  state.settings = { ...previousSettings, guild_folders: folders };
  state.emitChange("settings");
  try {
    const json = { guild_folders: folders };
    state.apply("USER_SETTINGS_UPDATE", await api.request("PATCH", "/users/@me/settings", { json }));
  } catch (error) {
    state.settings = previousSettings;
    state.emitChange("settings");
    throw error;
  }
}
