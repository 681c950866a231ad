/** Texts of file sizes and of limits for files. */

import { LOCALE } from "./translation.js";

const DECIMAL = new Intl.NumberFormat(LOCALE, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  useGrouping: false,
});
const KILOBYTE = 1024;
const MEGABYTE = 1024 * KILOBYTE;

/** Format a file size; KB and MB mean 1024 and 1024² bytes. The number is rounded up, so no size above a limit equals it. */
export function formatBytes(bytes) {
  if (bytes < KILOBYTE) return `${bytes} B`;
  if (bytes < MEGABYTE) return `${Math.ceil(bytes / KILOBYTE)} KB`;
  return `${DECIMAL.format(Math.ceil((bytes * 10) / MEGABYTE) / 10)} MB`;
}

/** Format a limit in the units of `formatBytes`, without rounding; `bytes` is a multiple of 1024. */
export function formatByteLimit(bytes) {
  return bytes < MEGABYTE ? `${bytes / KILOBYTE} KB` : `${bytes / MEGABYTE} MB`;
}
