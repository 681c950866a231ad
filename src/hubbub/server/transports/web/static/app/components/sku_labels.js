/** Names and prices of SKUs, cached. */

import { LOCALE, t } from "../ui/translation.js";

const CACHED_LABELS_MAX = 100;
const cache = new Map();

/** Resolve to a label such as "Crown for $4.99", or null if the SKU cannot be fetched. */
export function fetchSkuLabel({ api }, applicationId, skuId) {
  const key = `${applicationId}/${skuId}`;
  if (!cache.has(key)) {
    if (cache.size >= CACHED_LABELS_MAX) cache.clear();
    const path = `/applications/${encodeURIComponent(applicationId)}/store/${encodeURIComponent(skuId)}`;
    cache.set(
      key,
      api.request("GET", path).then(formatLabel, () => null),
    );
  }
  return cache.get(key);
}

function formatLabel({ name, price, currency }) {
  const cost = price ? formatPrice(price, currency) : "";
  return cost ? t("{name} for {cost}", { name, cost }) : name;
}

/** Format an amount in the smallest unit of a currency; return an empty text for an unknown currency. */
export function formatPrice(amount, currency) {
  try {
    const format = new Intl.NumberFormat(LOCALE, { style: "currency", currency });
    return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return "";
  }
}
