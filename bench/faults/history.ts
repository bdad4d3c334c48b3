/** A message of a chat completions request, as far as it is looked at. */
export interface WireMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id?: string; readonly function?: { readonly arguments?: string } }[];
  readonly tool_call_id?: string;
}

/** Why the real API would refuse this history with a 400; `undefined` when it would not. */
export function historyFault(messages: readonly WireMessage[]): string | undefined {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) return `a result for no call: ${message.tool_call_id}`;
      continue;
    }
    if (open.size > 0) return `calls without a result: ${[...open].join(', ')}`;
    if (message.role !== 'assistant') continue;
    const ids = (message.tool_calls ?? []).map((call) => call.id ?? '');
    open = new Set(ids);
    if (open.size !== ids.length) return 'two calls of one id';
    if (ids.length === 0 && textOf(message.content) === '') return 'an assistant message without content';
  }
  return open.size > 0 ? `calls without a result: ${[...open].join(', ')}` : undefined;
}

/** The text of a message's content. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('');
}
