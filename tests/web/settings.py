"""Steps that the tests of the guild settings and the user settings share."""

import re
from typing import Any

from tests.web.accessibility import find_problems
from tests.web.chat import ChatWindow


async def open_settings(window: ChatWindow, screen: str | None = None) -> Any:
    """Open the guild settings from the guild menu, and return the locator of the dialog."""
    await window.page.get_by_role("button", name="Menu of Guild").click()
    await window.page.get_by_role("menuitem", name="Guild settings").click()
    settings = window.page.get_by_role("dialog", name="Guild settings")
    await settings.wait_for()
    if screen is not None:
        await open_screen(settings, screen)
    return settings


async def open_screen(settings: Any, screen: str) -> None:
    """Open a screen of the settings. On a phone, leave the open page and screen first."""
    while await (back := settings.locator(".settings-all:visible")).count():
        await back.click()
    await settings.get_by_role("navigation").get_by_role("button", name=screen, exact=True).click()
    # The navigation has headings too.
    await settings.locator(".settings-heading").get_by_text(screen, exact=True).wait_for()


async def save_changes(settings: Any, *, expects_success: bool = True) -> None:
    """Save the unsaved changes; wait until the server accepted them unless `expects_success` is false."""
    save_bar = settings.get_by_role("region", name="Unsaved changes")
    await save_bar.get_by_role("button", name="Save changes").click()
    if expects_success:
        await save_bar.wait_for(state="hidden")


async def choose_in_picker(page: Any, label: str, name: str) -> None:
    """Search for a name in a picker and choose the first result."""
    # The button that clears the choice contains the label too.
    await page.get_by_role("button", name=re.compile(f"^{label}")).click()
    await page.get_by_role("combobox", name=f"Search: {label}").fill(name)
    options = page.get_by_role("listbox", name=label).get_by_role("option")
    await options.filter(has_not_text=name).first.wait_for(state="detached")
    # A click at the place of the option would miss it if the list changes at this moment.
    await options.filter(has_text=name).first.dispatch_event("click")


async def accessibility_problems(window: ChatWindow, language: str = "en") -> list[str]:
    """Return the accessibility problems of the open page, except missing landmarks: the client has no header and footer."""
    return [problem for problem in await find_problems(window.page, language) if not problem.startswith("landmark")]
