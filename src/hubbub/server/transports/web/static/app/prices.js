/** What a SKU is called and costs, asked once. */

const KEPT = 100;
const known = new Map();

/** "Crown for 4.99 USD", or null where it is not on sale. */
export function priceOf({ api }, application, sku) {
  const key = `${application}/${sku}`;
  if (!known.has(key)) {
    if (known.size >= KEPT) known.clear();
    const path = `/applications/${encodeURIComponent(application)}/store/${encodeURIComponent(sku)}`;
    known.set(key, api.request("GET", path).then(words, () => null));
  }
  return known.get(key);
}

function words({ name, price, currency }) {
  const cost = price ? money(price, currency) : "";
  return cost ? `${name} for ${cost}` : name;
}

/** An amount in the smallest unit of a currency, as people here write it. */
export function money(amount, currency) {
  try {
    const format = new Intl.NumberFormat(navigator.language, { style: "currency", currency });
    return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return "";
  }
}
