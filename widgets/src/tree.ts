/**
 * Drives the components of a surface by id.
 *
 * Whatever a message says, drawing ends: a circle, a missing child, a child in two
 * places and a tree too deep are drawn as placeholders, and so is a component that
 * nobody knows or whose entry cannot be read. Nothing is raised.
 */

import type { Block, Placed, Read } from "./block.ts";
import { Unsupported } from "./components/unsupported.ts";
import { el, setKids } from "./dom.ts";
import { type Json, Unreadable } from "./json.ts";
import {
  type Component,
  MOST_COMPONENTS,
  type Surface,
  childrenOf,
} from "./surface.ts";
import { say } from "./words.ts";

export const DEEPEST = 50;

export type Make = (kind: string, id: string) => Block | null;

interface Mount extends Placed {
  component: Component;
  parent: Mount | null;
  guard: Guard;
}

export class Tree {
  readonly #surface: Surface;
  readonly #make: Make;
  readonly #root: Block;
  #mounts = new Map<string, Mount>();
  #placed = new Set<string>();
  #fillers = new Map<string, Unsupported>();

  /** `root` stands for the root component, whatever else the surface holds. */
  constructor(surface: Surface, root: Block, make: Make) {
    this.#surface = surface;
    this.#root = root;
    this.#make = make;
  }

  /** Bring what stands in the page in line with the surface. */
  paint(): void {
    const laid = this.#surface.changed;
    if (laid) this.#lay();
    const stale = new Set<Mount>();
    for (const mount of this.#mounts.values()) {
      if (!laid && !this.#surface.touched(mount.component)) continue;
      this.#update(mount);
      for (let up = mount.parent; up !== null; up = up.parent) stale.add(up);
    }
    for (const mount of stale) mount.block.refresh?.();
    this.#surface.settle();
  }

  /** Every component that stands in the page. */
  *blocks(): Iterable<Placed> {
    yield* this.#mounts.values();
  }

  dispose(): void {
    for (const mount of this.#mounts.values()) mount.guard.dispose();
    this.#mounts.clear();
    this.#fillers.clear();
  }

  #update(mount: Mount): void {
    const component = mount.component;
    mount.guard.update((entry) => this.#surface.read(component, entry));
  }

  #lay(): void {
    this.#placed = new Set();
    const root = this.#surface.components.get("root");
    const faults = this.#faults(root);
    if (root?.kind === "RunCard") {
      const mount = this.#mount(root, null);
      this.#placed.add("root");
      this.#root.place?.([...this.#children(mount, ["root"]), ...faults]);
    } else {
      const child = root ? [this.#child("root", null, [])] : [];
      this.#root.place?.([...child, ...faults]);
    }
    for (const [id, mount] of this.#mounts) {
      if (this.#placed.has(id)) continue;
      mount.guard.dispose();
      this.#mounts.delete(id);
    }
  }

  #faults(root: Component | undefined): Placed[] {
    const { strays, tooMany } = this.#surface;
    const faults = strays.map((stray, at) => {
      const name = say("unsupported", { name: kindOf(stray) });
      return this.#filler(`stray ${at}`, name, stray);
    });
    if (tooMany !== null) {
      const words = say("tree.many", { n: tooMany, most: MOST_COMPONENTS });
      faults.push(this.#filler("many", words, null));
    }
    if (!root) faults.push(this.#filler("root", say("tree.root"), null));
    return faults;
  }

  #children(mount: Mount, trail: string[]): Placed[] {
    return childrenOf(mount.component).map((child) => this.#child(child, mount, trail));
  }

  #child(id: Json, parent: Mount | null, trail: string[]): Placed {
    const path = [...trail, typeof id === "string" ? id : kindOf(id)].join(" / ");
    if (typeof id !== "string") {
      return this.#filler(path, say("tree.wrong", { path }), id);
    }
    if (trail.includes(id)) return this.#filler(path, say("tree.circle", { path }));
    if (trail.length >= DEEPEST) {
      const words = say("tree.deep", { n: DEEPEST, path: shortened(path) });
      return this.#filler(path, words);
    }
    if (this.#placed.has(id)) {
      return this.#filler(path, say("tree.twice", { id, path }));
    }
    const component = this.#surface.components.get(id);
    if (!component) return this.#filler(path, say("tree.missing", { id, path }));
    this.#placed.add(id);
    const mount = this.#mount(component, parent);
    const children = this.#children(mount, [...trail, id]);
    mount.block.place?.(children);
    return mount;
  }

  #mount(component: Component, parent: Mount | null): Mount {
    const before = this.#mounts.get(component.id);
    if (before && before.kind === component.kind) {
      before.component = component;
      before.parent = parent;
      return before;
    }
    before?.guard.dispose();
    const isRoot = component.kind === "RunCard" && component.id === "root";
    const made = isRoot ? this.#root : this.#make(component.kind, component.id);
    const block = made ?? new Unsupported(component.kind, component.entries);
    const guard = new Guard(component.kind, block, isRoot ? block.node : undefined);
    const { id, kind } = component;
    const mount: Mount = {
      id,
      kind,
      node: guard.node,
      block,
      component,
      parent,
      guard,
    };
    this.#mounts.set(id, mount);
    return mount;
  }

  #filler(path: string, words: string, raw: Json = null): Placed {
    const key = `${path} ${words}`;
    let filler = this.#fillers.get(key);
    if (!filler) {
      filler = new Unsupported(null, raw, words);
      this.#fillers.set(key, filler);
    }
    return { id: path, kind: "", node: filler.node, block: filler };
  }
}

/** Stands around one block, so that what it cannot read shows as unsupported. */
class Guard {
  readonly node: HTMLElement;
  readonly #inner: Block;
  readonly #kind: string;
  #fault: Unsupported | null = null;

  constructor(kind: string, inner: Block, node?: HTMLElement) {
    this.#kind = kind;
    this.#inner = inner;
    this.node = node ?? el("div", "b-slot", inner.node);
  }

  update(read: Read): void {
    try {
      this.#inner.update(read);
      if (this.#fault) setKids(this.node, [this.#inner.node]);
      this.#fault = null;
    } catch (error) {
      if (!(error instanceof Unreadable)) console.warn("bread_nb:", error);
      this.#fail(read("value") ?? null);
    }
  }

  #fail(raw: Json): void {
    if (this.#fault) this.#fault.show(raw);
    else this.#fault = new Unsupported(this.#kind, raw);
    setKids(this.node, [this.#fault.node]);
  }

  dispose(): void {
    if (this.node === this.#inner.node) return;
    this.#inner.dispose?.();
    this.node.remove();
  }
}

function kindOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function shortened(path: string): string {
  const parts = path.split(" / ");
  return [...parts.slice(0, 3), "…", ...parts.slice(-2)].join(" / ");
}
