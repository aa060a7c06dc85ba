/**
 * One surface: its components by id and its data model, as the messages left them.
 *
 * A message that is wrong in part changes what it rightly can; nothing is raised.
 */

import { type Json, type JsonRecord, isRecord, own } from "./json.ts";
import { DataModel } from "./model.ts";

export const MOST_COMPONENTS = 1000;

export interface Component {
  id: string;
  kind: string;
  entries: JsonRecord;
}

export class Surface {
  readonly data = new DataModel();
  readonly components = new Map<string, Component>();
  id = "";
  /** Whether components changed since the last settle. */
  changed = true;
  /** Entries of component lists that were no components, to be shown as such. */
  strays: Json[] = [];
  /** The size of a message that held more components than are drawn. */
  tooMany: number | null = null;

  /** Carry out protocol messages in their order, then the appended texts. */
  apply(messages: Json[], append: Json[] = []): void {
    for (const message of messages) if (isRecord(message)) this.#message(message);
    for (const entry of append) {
      if (!Array.isArray(entry)) continue;
      const [path, text] = entry;
      if (typeof path === "string" && typeof text === "string") {
        this.data.append(path, text);
      }
    }
  }

  /** Begin anew, as a snapshot does. */
  clear(): void {
    this.components.clear();
    this.data.clear();
    this.strays = [];
    this.tooMany = null;
    this.changed = true;
  }

  /** Where an entry of a component is bound to, when it is. */
  path(component: Component, entry: string): string | null {
    const bound = own(component.entries, entry);
    const path = isRecord(bound) ? own(bound, "path") : undefined;
    return typeof path === "string" ? path : null;
  }

  /** The value of an entry: the literal, or what it is bound to. */
  read(component: Component, entry: string): Json | undefined {
    const path = this.path(component, entry);
    return path === null ? own(component.entries, entry) : this.data.get(path);
  }

  /** Whether anything this component is bound to was touched. */
  touched(component: Component): boolean {
    return Object.keys(component.entries).some((entry) => {
      const path = this.path(component, entry);
      return path !== null && this.data.touched(path);
    });
  }

  settle(): void {
    this.changed = false;
    this.data.settle();
  }

  #message(message: JsonRecord): void {
    const created = own(message, "createSurface");
    if (isRecord(created)) {
      this.clear();
      const id = own(created, "surfaceId");
      this.id = typeof id === "string" ? id : "";
    }
    const updated = own(message, "updateComponents");
    if (isRecord(updated)) this.#components(own(updated, "components"));
    const data = own(message, "updateDataModel");
    if (isRecord(data)) {
      const path = own(data, "path");
      this.data.set(typeof path === "string" ? path : "/", own(data, "value"));
    }
    if (isRecord(own(message, "deleteSurface"))) this.clear();
  }

  #components(list: Json | undefined): void {
    if (!Array.isArray(list)) return;
    this.changed = true;
    if (list.length > MOST_COMPONENTS) this.tooMany = list.length;
    for (const entry of list.slice(0, MOST_COMPONENTS)) {
      const id = isRecord(entry) ? own(entry, "id") : undefined;
      if (!isRecord(entry) || typeof id !== "string") {
        this.strays.push(entry);
        continue;
      }
      const kind = own(entry, "component");
      this.components.set(id, {
        id,
        kind: typeof kind === "string" ? kind : JSON.stringify(kind ?? null),
        entries: entry,
      });
    }
  }
}

/** The children a component names: a list, a single one, or none. */
export function childrenOf(component: Component): Json[] {
  const children = own(component.entries, "children");
  if (Array.isArray(children)) return children;
  if (children !== undefined && children !== null) return [children];
  const child = own(component.entries, "child");
  return child === undefined || child === null ? [] : [child];
}
