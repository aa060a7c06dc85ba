/** Making elements. Text is always set as text; no markup is ever parsed. */

export type Attributes = Record<string, string | number | boolean | null | undefined>;
export type Kid = Node | string | null | undefined | false;

/** An element with attributes and children; `true` is an empty attribute. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes | string | null = null,
  ...kids: Kid[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (typeof attributes === "string") node.className = attributes;
  else if (attributes) setAll(node, attributes);
  node.append(...present(kids));
  return node;
}

export function setAll(node: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) set(node, name, value);
}

/** Set one attribute; null, undefined and false take it away. */
export function set(node: Element, name: string, value: Attributes[string]): void {
  if (value === null || value === undefined || value === false) {
    node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Set the text of a node only when it differs. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Make the children of a node exactly these, moving as few as possible. */
export function setKids(node: Node, kids: readonly Node[]): void {
  const wanted = new Set(kids);
  for (const child of [...node.childNodes]) if (!wanted.has(child)) child.remove();
  let at = node.firstChild;
  for (const kid of kids) {
    if (kid === at) at = at.nextSibling;
    else node.insertBefore(kid, at);
  }
}

export function present(kids: readonly Kid[]): (Node | string)[] {
  return kids.filter((kid) => typeof kid === "string" || kid instanceof Node);
}

/** The element a node is focused in, seen from inside its shadow root. */
export function focusedIn(node: Node): Element | null {
  const root = node.getRootNode();
  return root instanceof ShadowRoot || root instanceof Document
    ? root.activeElement
    : null;
}
