/**
 * Changes of the order of guilds as functions that return a list of folders, and the lookup of a guild's folder.
 *
 * A folder with the ID null is a guild outside of folders.
 */

import { folderKey, singleGuild } from "../state/guild_order.js";

/** Largest random ID of a folder. */
const FOLDER_ID_MAX = 2 ** 32;

const withoutGuild = (folders, guildId) =>
  folders
    .map(folder => ({ ...folder, guild_ids: folder.guild_ids.filter(id => id !== guildId) }))
    .filter(folder => folder.guild_ids.length);

const insertAt = (list, item, index) => [...list.slice(0, index), item, ...list.slice(index)];

/** Return the folder that contains a guild, or null if it is outside of folders. */
export function folderOf(folders, guildId) {
  return folders.find(folder => folder.id !== null && folder.guild_ids.includes(guildId)) ?? null;
}

/** Move an entry, which is a folder or a guild outside of folders, up (-1) or down (1). */
export function stepEntry(folders, key, step) {
  const index = folders.findIndex(folder => folderKey(folder) === key);
  if (index < 0 || index + step < 0 || index + step >= folders.length) return folders;
  const otherFolders = folders.filter((_, otherIndex) => otherIndex !== index);
  return insertAt(otherFolders, folders[index], index + step);
}

/** Move a guild up (-1) or down (1); at the edge of its folder it leaves the folder. */
export function stepGuild(folders, guildId, step) {
  const folder = folderOf(folders, guildId);
  if (folder === null) return stepEntry(folders, guildId, step);
  const index = folder.guild_ids.indexOf(guildId);
  if (index + step < 0 || index + step >= folder.guild_ids.length) return removeFromFolder(folders, guildId, step > 0);
  const ids = insertAt(
    folder.guild_ids.filter(id => id !== guildId),
    guildId,
    index + step,
  );
  return folders.map(other => (other === folder ? { ...folder, guild_ids: ids } : other));
}

/** Move a guild out of its folder, to the place before or after the folder. */
export function removeFromFolder(folders, guildId, isAfter = true) {
  const index = folders.indexOf(folderOf(folders, guildId));
  if (index < 0) return folders;
  const hasOthers = folders[index].guild_ids.length > 1;
  return insertAt(withoutGuild(folders, guildId), singleGuild(guildId), index + (isAfter && hasOthers ? 1 : 0));
}

/** Move a guild into a folder, as its last guild. */
export function addToFolder(folders, guildId, folderId) {
  return withoutGuild(folders, guildId).map(folder =>
    folder.id === folderId ? { ...folder, guild_ids: [...folder.guild_ids, guildId] } : folder,
  );
}

/** Create a folder at the place of a guild. It contains the guild and, unless `otherId` is null, a second guild. */
export function createFolder(folders, guildId, otherId = null) {
  const foldersWithoutOther = otherId === null ? folders : withoutGuild(folders, otherId);
  const foldersWithGuildOutside =
    folderOf(foldersWithoutOther, guildId) === null
      ? foldersWithoutOther
      : removeFromFolder(foldersWithoutOther, guildId);
  const id = 1 + Math.floor(Math.random() * FOLDER_ID_MAX);
  return foldersWithGuildOutside.map(folder =>
    folder.id === null && folder.guild_ids[0] === guildId
      ? { ...folder, id, guild_ids: otherId === null ? [guildId] : [guildId, otherId] }
      : folder,
  );
}

/** Remove a folder; its guilds take its place. */
export function dissolveFolder(folders, folderId) {
  return folders.flatMap(folder => (folder.id === folderId ? folder.guild_ids.map(singleGuild) : [folder]));
}

/** Change the name, color or state of a folder. */
export function changeFolder(folders, folderId, changes) {
  return folders.map(folder => (folder.id === folderId ? { ...folder, ...changes } : folder));
}

/**
 * Drop a dragged guild or folder on another entry of the list.
 *
 * @param {any[]} folders
 * @param {string} dragged the ID of a guild, or the key of a folder
 * @param {string} target the ID of a guild, or the key of a folder
 * @param {"before" | "inside" | "after"} place
 */
export function dropEntry(folders, dragged, target, place) {
  if (dragged === target) return folders;
  const isFolder = key => key.startsWith("folder-");
  if (isFolder(dragged)) {
    const draggedFolder = folders.find(folder => folderKey(folder) === dragged);
    const targetFolder = isFolder(target) ? null : folderOf(folders, target);
    const targetKey = targetFolder === null ? target : folderKey(targetFolder);
    if (targetKey === dragged) return folders;
    const otherFolders = folders.filter(folder => folder !== draggedFolder);
    return insertAt(
      otherFolders,
      draggedFolder,
      otherFolders.findIndex(folder => folderKey(folder) === targetKey) + (place === "before" ? 0 : 1),
    );
  }
  if (isFolder(target)) {
    if (place !== "before") return addToFolder(folders, dragged, Number(target.slice("folder-".length)));
    const foldersWithoutGuild = withoutGuild(folders, dragged);
    return insertAt(
      foldersWithoutGuild,
      singleGuild(dragged),
      Math.max(
        0,
        foldersWithoutGuild.findIndex(folder => folderKey(folder) === target),
      ),
    );
  }
  const targetFolder = folderOf(folders, target);
  if (place === "inside" && targetFolder === null) return createFolder(folders, target, dragged);
  const foldersWithoutGuild = withoutGuild(folders, dragged);
  const offset = place === "before" ? 0 : 1;
  if (targetFolder === null)
    return insertAt(
      foldersWithoutGuild,
      singleGuild(dragged),
      foldersWithoutGuild.findIndex(folder => folderKey(folder) === target) + offset,
    );
  return foldersWithoutGuild.map(folder =>
    folder.id === targetFolder.id
      ? { ...folder, guild_ids: insertAt(folder.guild_ids, dragged, folder.guild_ids.indexOf(target) + offset) }
      : folder,
  );
}
