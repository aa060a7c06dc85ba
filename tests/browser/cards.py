"""A live card and its forms, by what a person finds in them."""

from __future__ import annotations

from typing import TypedDict

from playwright.sync_api import Locator, expect

SECONDS = 20
# A form takes no press in its first 600 ms, so that nobody presses by accident.
INERT_MILLISECONDS = 650


class Colours(TypedDict):
    """What a card is drawn in."""

    ink: list[int]
    paper: list[int]
    scheme: str


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

    def wait_for_row(self, *words: str) -> None:
        """Wait until a row of the inbox says these words."""
        row = self.node.locator(".b-inrow")
        for word in words:
            row = row.filter(has_text=word)
        expect(row.first).to_be_visible()

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

    def colours(self) -> Colours:
        """Ink and paper, as parts of red, green and blue."""
        return self.node.evaluate(
            """(node) => {
              const style = getComputedStyle(node);
              const parts = (colour) => {
                const context = document.createElement('canvas').getContext('2d');
                context.fillStyle = colour;
                context.fillRect(0, 0, 1, 1);
                return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
              };
              return {
                ink: parts(style.color),
                paper: parts(style.backgroundColor),
                scheme: style.colorScheme,
              };
            }"""
        )

    def moving(self) -> int:
        """How many things in it move by themselves."""
        return self.node.evaluate(
            "(node) => node.getAnimations({subtree: true})"
            ".filter((one) => one.playState === 'running').length"
        )

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
