/** How a server's headers are asked for one; names are lower case. */
export type ReadHeader = (name: string) => string | undefined;

/** An HTTP date in any of its three forms (RFC 9110, section 5.6.7). */
const httpDate = /^(mon|tue|wed|thu|fri|sat|sun)/i;

/**
 * How long a server asks to wait, ms: `retry-after-ms` (OpenAI's), else `Retry-After` as seconds or as an HTTP date. A date
 * counts from the server's own `Date`, so that a wrong clock here changes nothing, else from `now` (ms since the epoch).
 * Zero, less, no number, and a moment that has passed say nothing: `undefined`.
 */
export function retryAfterMs(header: ReadHeader, now?: number): number | undefined {
  const exact = positive(decimal(header('retry-after-ms')));
  if (exact !== undefined) return exact;
  const text = header('retry-after')?.trim();
  if (text === undefined) return undefined;
  const seconds = decimal(text);
  if (seconds !== undefined) return positive(seconds * 1000);
  const from = dateOf(header('date')) ?? now;
  const until = dateOf(text);
  return from === undefined || until === undefined ? undefined : positive(until - from);
}

function decimal(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
}

function dateOf(text: string | undefined): number | undefined {
  if (text === undefined || !httpDate.test(text.trim())) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

function positive(ms: number | undefined): number | undefined {
  return ms !== undefined && Number.isFinite(ms) && ms > 0 ? Math.ceil(ms) : undefined;
}
