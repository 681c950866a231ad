/** Names and prices of SKUs, cached. */

const PRICES_MAX = 100;
const cache = new Map();

/** Resolve to a label such as "Crown for 4.99 USD", or null if the SKU is not on sale. */
export function fetchSkuLabel({ api }, application, sku) {
  const key = `${application}/${sku}`;
  if (!cache.has(key)) {
    if (cache.size >= PRICES_MAX) cache.clear();
    const path = `/applications/${encodeURIComponent(application)}/store/${encodeURIComponent(sku)}`;
    cache.set(
      key,
      api.request("GET", path).then(label, () => null),
    );
  }
  return cache.get(key);
}

function label({ name, price, currency }) {
  const cost = price ? formatPrice(price, currency) : "";
  return cost ? `${name} for ${cost}` : name;
}

/** Format an amount given in the smallest unit of a currency. */
export function formatPrice(amount, currency) {
  try {
    const format = new Intl.NumberFormat(navigator.language, { style: "currency", currency });
    return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return "";
  }
}
