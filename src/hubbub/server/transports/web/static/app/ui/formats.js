/** Numbers as text for the user. */

/** Format a size in bytes. */
export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Format a limit in bytes, which is a multiple of 1024. */
export function formatByteLimit(bytes) {
  return bytes < 1 << 20 ? `${bytes / 1024} KB` : `${bytes / (1 << 20)} MB`;
}
