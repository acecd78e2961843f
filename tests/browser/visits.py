"""A browser's visits to the site, and whatever the browser complained of meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page

# Told on the console, where all else that goes wrong is told, too.
_TELL_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
    console.error(`violates ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


@dataclass
class Visits:
    """Opens pages as somebody who is logged in; ``complaints`` is what no page may cause."""

    browser: Browser
    site: str
    complaints: list[str] = field(default_factory=list)

    def begin(self, client: Client, **options: Any) -> Page:
        """Return a page, still empty, with the session of ``client``; paths are the site's."""
        context = self.browser.new_context(base_url=self.site, **options)
        context.set_default_timeout(10_000)
        session = client.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": self.site}])
        self._listen(context)
        return context.new_page()

    def end(self) -> None:
        """Close all pages."""
        for context in self.browser.contexts:
            context.close()

    def _listen(self, context: BrowserContext) -> None:
        context.add_init_script(_TELL_VIOLATIONS)
        context.on("console", self._hear)
        context.on("dialog", self._dismiss)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _hear(self, message: ConsoleMessage) -> None:
        # A browser asks for an icon, and the test site has none.
        if message.type == "error" and not message.location["url"].endswith("/favicon.ico"):
            self.complaints.append(message.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()
