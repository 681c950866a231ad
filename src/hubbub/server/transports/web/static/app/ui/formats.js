/** Numbers as text for the user. */

/** Format a size in bytes. */
export function formatBytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${Math.round(count / 1000)} kB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

/** Format a limit in bytes, which is a multiple of 1024. */
export function formatByteLimit(count) {
  return count < 1 << 20 ? `${count / 1024} KB` : `${count / (1 << 20)} MB`;
}
