/** Data of the user that the browser keeps: the only module of the chat client with access to its storage (decisions/0121). */

const PREFIX = "hubbub.";
const OWNER_KEY = `${PREFIX}owner`;

/** Values that could not be stored: the browser denies access to its storage, or it is full. @type {Map<string, any>} */
const pageValues = new Map();

/** Remove the data of another account from the storage. Called at the start, before any value is read. */
export function claimStorage(userId) {
  try {
    if (localStorage.getItem(OWNER_KEY) === userId) return;
    clearStorage();
    localStorage.setItem(OWNER_KEY, userId);
  } catch {
    // The browser denies access to its storage, or the storage is full.
  }
}

/** Remove all data of the chat client from the browser. */
export function clearStorage() {
  pageValues.clear();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // Nothing is stored.
  }
}

/** Return a stored value, or null. */
export function readStored(name) {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? (pageValues.get(name) ?? null) : JSON.parse(text);
  } catch {
    return pageValues.get(name) ?? null;
  }
}

/**
 * Store a value that JSON can represent; null removes it.
 *
 * A value that the browser cannot store is kept while the page is open; an older stored value takes precedence over it.
 */
export function writeStored(name, value) {
  pageValues.delete(name);
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    if (value !== null) pageValues.set(name, value);
  }
}
