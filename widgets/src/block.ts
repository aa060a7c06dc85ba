/** What a component is to the tree that drives it, and what it may ask of the card. */

import type { Json, JsonRecord } from "./json.ts";
import type { Page } from "./page.ts";

/** Reads one entry of a component: bound or literal. */
export type Read = (entry: string) => Json | undefined;

export interface Block {
  readonly node: HTMLElement;
  /** Draw what the data model holds now; raises `Unreadable` for a wrong shape. */
  update(read: Read): void;
  /** The children that stand in this component, in order. */
  place?(children: readonly Placed[]): void;
  /** Called in a paint in which a child was updated. */
  refresh?(): void;
  /** Whether controls that talk to the kernel are of use. */
  enable?(alive: boolean): void;
  dispose?(): void;
}

export interface Placed {
  readonly id: string;
  readonly kind: string;
  /** What a parent puts among its children: the block, or its placeholder. */
  readonly node: HTMLElement;
  readonly block: Block;
}

export interface Problem {
  path: string;
  text: string;
}

/** What becomes of an action. Each is called at most once. */
export interface Outcome {
  acked?(): void;
  /** Acknowledged a while ago, and still no result. */
  slow?(): void;
  /** No acknowledgement came; `heard` when the kernel said anything else meanwhile. */
  lost?(heard: boolean): void;
  result?(
    ok: boolean,
    say: string | null,
    problems: Problem[],
    /** What the kernel handed out, if that was asked for. */
    data: Json,
  ): void;
}

export interface Host {
  readonly page: Page;
  /** Send an action of that component to the kernel. */
  act(name: string, source: string, context: JsonRecord, outcome?: Outcome): void;
  /** Ask the kernel for something to show or to save; null when it has none. */
  hand(name: string, context: JsonRecord, given: (data: Json) => void): void;
  /** Tell a screen reader, politely and not too often. */
  announce(words: string): void;
  /** Ask for a paint; one comes before the next frame. */
  repaint(): void;
  /** An id for an element of this card. */
  id(): string;
  /** What a button does about its keys while it is in the card. */
  readonly presses: WeakMap<Element, KeyPress>;
}

export interface KeyPress {
  down(event: KeyboardEvent): void;
  up(event: KeyboardEvent): void;
}
