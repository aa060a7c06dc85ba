/** What the widget takes from the page it lives in; tests bring their own. */

export interface Page {
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  /** The time of day for a message, ISO 8601. */
  stamp(): string;
  /** Call once after that many milliseconds; the answer takes it back. */
  later(ms: number, call: () => void): () => void;
  /** Call once before the next paint; the answer takes it back. */
  frame(call: () => void): () => void;
  /** Whether a person made this event. Scripts of the page may not consent. */
  trusted(event: Event): boolean;
  /** Call whenever the box of a node changes its size. */
  sizes(node: Element, call: () => void): () => void;
  /** Put text on the clipboard; whether it got there. */
  copy(text: string, beside: Node): Promise<boolean>;
  /** Save bytes as a file of the person's. */
  save(name: string, mime: string, base64: string): void;
  /** A name that nothing else has. */
  fresh(): string;
}

export function browserPage(): Page {
  return {
    now: () => performance.now(),
    stamp: () => new Date().toISOString(),
    later(ms, call) {
      const timer = setTimeout(call, ms);
      return () => clearTimeout(timer);
    },
    frame(call) {
      const request = requestAnimationFrame(() => call());
      return () => cancelAnimationFrame(request);
    },
    trusted: (event) => event.isTrusted,
    sizes(node, call) {
      const observer = new ResizeObserver(() => call());
      observer.observe(node);
      return () => observer.disconnect();
    },
    copy,
    save,
    fresh() {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    },
  };
}

function save(name: string, mime: string, base64: string): void {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes], { type: mime }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

async function copy(text: string, beside: Node): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text, beside);
  }
}

/** For pages without a clipboard: those that did not come over https. */
function copyBySelection(text: string, beside: Node): boolean {
  const root = beside.getRootNode();
  const focused = root instanceof ShadowRoot ? root.activeElement : null;
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "b-sr";
  (root instanceof ShadowRoot ? root : document.body).append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return copied;
}
