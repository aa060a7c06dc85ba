"""A live card and its forms, by what a person finds in them."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

SECONDS = 20
# A form takes no press in its first 600 ms, so that nobody presses by accident.
INERT_MILLISECONDS = 650


class CardView:
    """The card in one cell.

    Args:
        node: Its root, inside its shadow.
    """

    def __init__(self, node: Locator) -> None:
        self.node = node

    def wait_for_state(self, word: str, seconds: float = SECONDS) -> None:
        """Wait until the word in its header is this one."""
        expect(self.node.locator(".b-word")).to_have_text(word, timeout=seconds * 1000)

    @property
    def prose(self) -> Locator:
        """The model's last text."""
        return self.node.locator(".b-text").last

    @property
    def calls(self) -> Locator:
        """The tool calls."""
        return self.node.locator(".b-call")

    @property
    def forms(self) -> Locator:
        """The open forms."""
        return self.node.locator(".b-form")

    def form(self) -> FormView:
        """The open form, once it is there and takes a press."""
        expect(self.forms).to_have_count(1)
        self.node.page.wait_for_timeout(INERT_MILLISECONDS)
        return FormView(self.forms)

    def button(self, name: str) -> Locator:
        """A button by its words."""
        return self.node.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        self.button(name).click()


class FormView:
    """An open form."""

    def __init__(self, node: Locator) -> None:
        self.node = node

    def button(self, name: str) -> Locator:
        """A button by its words."""
        return self.node.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        self.button(name).click()

    def field(self, label: str) -> Locator:
        """A field by its label."""
        return self.node.get_by_label(label)
