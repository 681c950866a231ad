/** Formats of byte sizes. */

/** Format a file size in decimal units (kB, MB). */
export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Format a limit in binary units; `bytes` is a multiple of 1024. */
export function formatByteLimit(bytes) {
  return bytes < 1 << 20 ? `${bytes / 1024} KB` : `${bytes / (1 << 20)} MB`;
}
