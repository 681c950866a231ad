// Runs Firefox for a test, with Puppeteer. The arguments are the path of Firefox and further preferences as JSON.
// Each line on stdin is a request, {"id", "step", "args"}; the lines on stdout are results, {"id", "result"} or {"id", "error"}.
// The end of stdin closes the browser.

import { createInterface } from "node:readline";
import puppeteer from "puppeteer-core";

const TIMEOUT_MS = 30_000;

const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath: process.argv[2],
  headless: true,
  timeout: 120_000,
  extraPrefsFirefox: { "intl.accept_languages": "en-US", "ui.prefersReducedMotion": 1, ...JSON.parse(process.argv[3]) },
});
const windows = new Map();

// Bring the page to the front, since others draw nothing, and return the locator of an element.
// Waiting until it is enabled would call `eval`, which the policy of the chat client forbids.
async function locate(page, selector) {
  await page.bringToFront();
  return page.locator(selector).setWaitForEnabled(false);
}

const steps = {
  async openWindow({ window, width, height, cookies }) {
    const context = await browser.createBrowserContext();
    await context.setCookie(...cookies);
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    await page.setViewport({ width, height });
    const errors = [];
    page.on("pageerror", error => errors.push(String(error)));
    page.on("console", entry => {
      if (["error", "warn"].includes(entry.type())) errors.push(entry.text());
    });
    windows.set(window, { context, page, errors });
  },
  async closeWindow({ window }) {
    const { context, errors } = windows.get(window);
    windows.delete(window);
    await context.close();
    return errors;
  },
  open: ({ page, url }) => page.goto(url).then(() => null),
  click: ({ page, selector }) => locate(page, selector).then(element => element.click()),
  hover: ({ page, selector }) => locate(page, selector).then(element => element.hover()),
  fill: ({ page, selector, value }) => locate(page, selector).then(element => element.fill(value)),
  async choose({ page, selector, option }) {
    const field = await page.waitForSelector(selector);
    const value = await field.evaluate(
      (select, label) => [...select.options].find(candidate => candidate.label === label).value,
      option,
    );
    await field.select(value);
  },
  press: ({ page, key }) => page.bringToFront().then(() => page.keyboard.press(key)),
  waitShown: ({ page, selector }) => page.waitForSelector(selector, { visible: true }).then(() => null),
  waitHidden: ({ page, selector }) => page.waitForSelector(selector, { hidden: true }).then(() => null),
  evaluate: ({ page, script }) => page.evaluate(script),
};

function writeLine(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function handleRequest({ id, step, args }) {
  try {
    const result = await steps[step]({ ...args, page: windows.get(args.window)?.page });
    writeLine({ id, result: result ?? null });
  } catch (error) {
    writeLine({ id, error: error.stack });
  }
}

createInterface({ input: process.stdin })
  .on("line", line => handleRequest(JSON.parse(line)))
  .on("close", async () => {
    await browser.close();
    process.exit(0);
  });
