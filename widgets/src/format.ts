/** The one formatter of numbers and durations. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A whole number with its thousands marked: 960,000. */
export function count(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Working time: 0:14, 12:05, 1:02:09. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / SECOND));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const tail = String(seconds % 60).padStart(2, "0");
  if (hours === 0) return `${minutes}:${tail}`;
  return `${hours}:${String(minutes % 60).padStart(2, "0")}:${tail}`;
}

/** The time one step took: 0.2 s, 14 s, 2:03. */
export function took(ms: number): string {
  if (ms >= MINUTE) return clock(ms);
  const seconds = Math.max(0, ms) / SECOND;
  return seconds < 9.95 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds)} s`;
}

/** A wait, in its largest unit: 40 s, 12 min, 3 h, 2 days. */
export function age(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  const days = Math.floor(ms / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

/** How many words a text has. */
export function wordCount(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
