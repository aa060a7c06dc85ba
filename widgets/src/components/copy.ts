/** A button that copies text and says whether it did. */

import type { Host } from "../block.ts";
import { PressButton } from "../press.ts";
import { say } from "../words.ts";

const SHOWN_FOR = 2000;

export function copyButton(
  host: Host,
  what: string,
  text: () => string,
  label = say("copy"),
): PressButton {
  const more = { link: true, label: say("copy.of", { what }) };
  const button = new PressButton(host, label, () => void press(), more);
  const press = async () => {
    const copied = await host.page.copy(text(), button.node);
    button.text = say(copied ? "copied" : "copy.failed");
    host.announce(button.node.textContent);
    host.page.later(SHOWN_FOR, () => (button.text = label));
  };
  return button;
}
