"""Accessibility checks of a page in a browser: axe-core, and rules of our own that axe-core lacks."""

from typing import Any

from tests.clients.discord_js_bot import JS_FOLDER

AXE_FILE = JS_FOLDER / "node_modules" / "axe-core" / "axe.min.js"
"""The script of axe-core. Without it (`make client-deps` installs it) only our own rules are checked."""

RUN_AXE = """async () => {
  // Only one run at a time is possible; `WATCH_WINDOWS` uses the same queue.
  const run = () => axe.run(document, { resultTypes: ["violations"], iframes: false });
  const results = await (window.axeQueue = (window.axeQueue ?? Promise.resolve()).then(run));
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(node => `axe ${id}: ${node.target.join(" ")} ${node.html.slice(0, 200)} ${node.any.map(check => check.message)}`)
  );
}"""
"""A JavaScript function that returns the violations of all rules of axe-core as a list of texts."""

WATCH_WINDOWS = """
addEventListener("DOMContentLoaded", () => {
  window.axeQueue = Promise.resolve();
  const check = async node => {
    if (!node.isConnected) return;
    const { violations } = await axe.run(node, { resultTypes: ["violations"], iframes: false });
    for (const { id, nodes } of violations)
      for (const { target, html, any } of nodes)
        console.error(`axe ${id}: ${target.join(" ")} ${html.slice(0, 200)} ${any.map(({ message }) => message)}`);
  };
  new MutationObserver(records => {
    for (const { addedNodes } of records)
      for (const node of addedNodes)
        if (node instanceof Element && node.matches("dialog, [role=menu], [role=dialog]"))
          setTimeout(() => { window.axeQueue = window.axeQueue.then(() => check(node)); }, 100);
  }).observe(document.body, { childList: true, subtree: true });
});
"""
"""A script of a page, after axe-core, that writes the violations in every dialog and menu to the console when it opens."""

AUDIT = """language => {
  const problems = [];
  const isVisible = element => {
    const style = getComputedStyle(element);
    if (style.visibility === "hidden" || style.display === "none") return false;
    return !element.closest("[aria-hidden=true], details:not([open]) > :not(summary)");
  };
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!isVisible(field)) continue;
    if (!field.labels.length && !field.getAttribute("aria-label")) problems.push(`no label: ${field.outerHTML}`);
    for (const id of (field.getAttribute("aria-describedby") || "").split(" ").filter(Boolean))
      if (!document.getElementById(id)) problems.push(`aria-describedby names a missing element: ${field.outerHTML}`);
  }
  for (const control of document.querySelectorAll("button, a[href]"))
    if (isVisible(control) && !control.textContent.trim() && !control.getAttribute("aria-label"))
      problems.push(`no name: ${control.outerHTML}`);
  for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) problems.push(`no alt: ${image.outerHTML}`);
  const headings = [...document.querySelectorAll("h1, h2, h3, h4")].filter(isVisible).map(heading => Number(heading.tagName[1]));
  if (headings.filter(level => level === 1).length !== 1 || headings[0] !== 1) problems.push(`headings: ${headings}`);
  if (headings.some((level, index) => index && level > headings[index - 1] + 1))
    problems.push(`a heading level is skipped: ${headings}`);
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  for (const id of new Set(ids)) if (ids.filter(other => other === id).length > 1) problems.push(`duplicate id: ${id}`);
  for (const tag of ["main", "header", "footer"])
    if (document.querySelectorAll(`body > ${tag}`).length !== 1) problems.push(`landmark: ${tag}`);
  if (document.documentElement.lang !== language) problems.push(`language: ${document.documentElement.lang}`);
  if (!document.title) problems.push("no title");
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const parseColor = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const backgroundColor = element => {
    for (let ancestor = element; ancestor; ancestor = ancestor.parentElement) {
      const color = parseColor(getComputedStyle(ancestor).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const textNodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (textNodes.nextNode()) {
    const element = textNodes.currentNode.parentElement;
    if (!textNodes.currentNode.textContent.trim() || !isVisible(element) || element.closest(".skip, .visually-hidden")) continue;
    const style = getComputedStyle(element);
    const [lighter, darker] = [luminance(parseColor(style.color)), luminance(backgroundColor(element))].sort((x, y) => y - x);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (lighter + 0.05) / (darker + 0.05);
    if (ratio < (isLarge ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${textNodes.currentNode.textContent.trim()}`);
  }
  for (const control of document.querySelectorAll("button, .button, input:not([type=hidden]), select, nav a")) {
    if (!isVisible(control) || control.closest(".visually-hidden") || control.matches(".visually-hidden, .link")) continue;
    const box = control.getBoundingClientRect();
    if (box.height && box.height < 18) problems.push(`too small to touch (${box.height}): ${control.outerHTML}`);
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
    problems.push(`scrolls horizontally: ${document.documentElement.scrollWidth} in ${document.documentElement.clientWidth}`);
  return problems;
}"""
"""A JavaScript function that returns the accessibility problems of a page in a language as a list of texts."""


async def find_problems(page: Any, language: str = "en") -> list[str]:
    """Return the accessibility problems of the current page, which has this language."""
    problems: list[str] = await page.evaluate(AUDIT, language)
    if AXE_FILE.exists():
        if not await page.evaluate("'axe' in window"):
            await page.evaluate(AXE_FILE.read_text())
        problems += await page.evaluate(RUN_AXE)
    return problems


async def watch_windows(page: Any) -> None:
    """Check every dialog and menu of a page when it opens; problems are errors in its console."""
    await page.add_init_script(AXE_FILE.read_text() + WATCH_WINDOWS)


async def record_problems(page: Any, problems: list[str], name: str, language: str = "en") -> None:
    """Append the problems of the current page, prefixed with its name, to `problems`."""
    # A click waits until the next page begins to load, not until it has loaded.
    await page.wait_for_load_state()
    problems += [f"{name}: {problem}" for problem in await find_problems(page, language)]
