/**
 * Keeps the notebook's shortcuts out of the cards.
 *
 * A focused button in an output would let Shift-Enter run the cell again and `d d`
 * delete it. One listener on the window, on the way down, stands before the listeners
 * of JupyterLab and of Notebook, so a key inside a card reaches nobody but the card.
 */

export interface KeyTarget {
  /** A key went down inside the card; `target` is where, inside its shadow root. */
  key(event: KeyboardEvent, target: Element): void;
}

const cards = new WeakMap<EventTarget, KeyTarget>();

/** Let keys inside this element go to the card and to nobody else. */
export function guard(host: EventTarget, card: KeyTarget): void {
  cards.set(host, card);
}

/** Install the one listener of the page. */
export function installGuard(window: Window): void {
  window.addEventListener("keydown", onKey, { capture: true });
}

function onKey(event: KeyboardEvent): void {
  const path = event.composedPath();
  const host = path.find((node) => cards.has(node));
  const card = host && cards.get(host);
  const target = path[0];
  if (!card || !(target instanceof Element)) return;
  const enter = event.key === "Enter";
  const browsers = (event.ctrlKey || event.metaKey) && !enter;
  if (browsers) return;
  event.stopPropagation();
  if (enter && modified(event) && !isTextArea(target)) event.preventDefault();
  card.key(event, target);
}

export function modified(event: KeyboardEvent): boolean {
  return event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
}

export function isTextArea(node: Element): boolean {
  return node instanceof HTMLTextAreaElement;
}

/** Whether typing a letter here writes it. */
export function isField(node: Element): boolean {
  return (
    isTextArea(node) ||
    node instanceof HTMLSelectElement ||
    node instanceof HTMLInputElement
  );
}
