/**
 * One thing the model can see in a request, whatever the API it came through. Tool calls and results keep the id that
 * pairs them.
 */
export type HistoryItem =
  | { readonly kind: 'system'; readonly text: string }
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'assistant'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly input: string }
  | { readonly kind: 'result'; readonly id: string; readonly text: string };

/**
 * Whether a user text was put there by the agent program rather than by a person: both big CLIs wrap what they inject
 * in a tag (`<system-reminder>`, `<environment_context>`, `<turn_aborted>`).
 */
export function isInjected(item: HistoryItem): boolean {
  return item.kind === 'user' && /^\s*(<[a-z_-]+>|# AGENTS\.md)/i.test(item.text);
}

/** The first thing a person (or a supervisor) said: what the whole conversation is about. */
export function firstPrompt(history: readonly HistoryItem[]): string {
  const first = history.find((item) => item.kind === 'user' && !isInjected(item));
  return first?.kind === 'user' ? first.text : '';
}

/** A history in one line per item, short enough for a log: `user: Append…`, `call Bash: {"command"…`, `result: …`. */
export function summarise(history: readonly HistoryItem[], width = 120): readonly string[] {
  return history.map((item) => `${label(item)}: ${clip(item.kind === 'call' ? item.input : item.text, width)}`);
}

function label(item: HistoryItem): string {
  return item.kind === 'call' ? `call ${item.name}` : item.kind;
}

function clip(text: string, width: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}
