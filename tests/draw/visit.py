"""A page in the browser, with the questions that tests ask."""

from pathlib import Path
from typing import Any


class Visit:
    """A page in the browser, with its errors and requests."""

    def __init__(self, browser: Any, file: Path, link: str, options: dict[str, Any]) -> None:
        self.context = browser.new_context(viewport={"width": 1200, "height": 800}, **options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.address = file.as_uri()
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url.partition("#")[0]))
        self.page.goto(self.address + link)
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has been drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def labels(self) -> list[str]:
        """Return the accessible names of the boxes on the page."""
        return self.page.eval_on_selector_all(".box", "all => all.map(one => one.getAttribute('aria-label'))")  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        return [label.split(", ")[1] if ", " in label else label for label in self.labels()]

    def box(self, name: str) -> Any:
        return self.page.locator(f'.box[aria-label*=", {name}"]').first

    def focused(self) -> str:
        return self.page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.id")  # type: ignore[no-any-return]

    def panel(self) -> str:
        panel = self.page.locator("#panel")
        return panel.inner_text() if panel.is_visible() else ""

    def scale(self) -> float:
        return self.page.evaluate("document.getElementById('world').transform.baseVal.consolidate().matrix.a")  # type: ignore[no-any-return]

    def spots(self) -> dict[str, tuple[float, float, float, float]]:
        """Return the positions and sizes of the boxes, by their numbers."""
        script = """all => all.map(one => {
          const place = one.transform.baseVal.consolidate().matrix, frame = one.querySelector('rect:last-of-type');
          return [one.dataset.number, place.e, place.f, +frame.getAttribute('width'), +frame.getAttribute('height')];
        })"""
        found = self.page.eval_on_selector_all(".box", script)
        return {number: (x, y, width, height) for number, x, y, width, height in found}
