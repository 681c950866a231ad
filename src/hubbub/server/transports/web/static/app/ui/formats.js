/** Formats of byte sizes. */

import { LOCALE } from "./translation.js";

const DECIMAL = new Intl.NumberFormat(LOCALE, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  useGrouping: false,
});

/** Format a file size in decimal units (kB, MB). */
export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${DECIMAL.format(bytes / 1_000_000)} MB`;
}

/** Format a limit in binary units; `bytes` is a multiple of 1024. */
export function formatByteLimit(bytes) {
  return bytes < 1 << 20 ? `${bytes / 1024} KB` : `${bytes / (1 << 20)} MB`;
}
