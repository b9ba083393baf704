"""A real browser without a network, and what is asked of a page in it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from helpers.reporting import chromium

CONTRAST = """(selectors) => {
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const over = ([r, g, b, a = 1], under) =>
    [r, g, b].map((value, i) => value * a + under[i] * (1 - a));
  const ground = (node) => {
    const chain = [];
    for (let at = node; at; at = at.parentElement) {
      chain.unshift(parse(getComputedStyle(at).backgroundColor));
    }
    return chain.reduce((under, colour) => over(colour, under), [255, 255, 255]);
  };
  const luminance = (colour) => colour.map((value) => value / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const out = {};
  for (const selector of selectors) {
    const ratios = Array.from(document.querySelectorAll(selector)).map((node) => {
      const under = ground(node);
      const [low, high] = [luminance(over(parse(getComputedStyle(node).color), under)),
        luminance(under)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    });
    out[selector] = ratios.length ? Math.min(...ratios) : 0;
  }
  return out;
}"""
"""The least contrast of the elements of each selector; 0 where there is none."""

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Seen:
    """What a page did beside showing itself."""

    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """Those that the policy let pass."""
    failed: list[str] = field(default_factory=list)

    def note_failure(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # by going to another page
            self.failed.append(request.url)

    def note_status(self, response: Any) -> None:
        if response.status >= 400:
            self.failed.append(response.url)


@contextmanager
def launched() -> Iterator[Any]:
    """A browser; skips the test where there is none to launch."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: pip install playwright"
    )
    path = chromium()
    if path is None:
        pytest.skip("no Chromium to look at the page with: apt-get install chromium")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox"] if root else []
        )
        yield running
        running.close()


@contextmanager
def opened(
    browser: Any, address: str, width: int = 1600, served: str = "none", **options: Any
) -> Iterator[Any]:
    """Open the page; yields it and what it does. No request leaves but to where it is served."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    seen, page = Seen(), context.new_page()

    def refuse(route: Any) -> None:
        seen.sent.append(route.request.url)
        route.abort()

    page.route(lambda url: url.startswith("http") and not url.startswith(served), refuse)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("requestfailed", seen.note_failure)
    page.on("response", seen.note_status)
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    page.goto(address)
    try:
        yield page, seen
    finally:
        context.close()
