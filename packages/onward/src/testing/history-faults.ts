import type { Message, ModelRequest } from '../models/model.ts';

/**
 * What a provider would refuse in a request, as one sentence each; empty when it would take it. The rules that Anthropic
 * and OpenAI both enforce, or that one of them does: calls and results are paired, nothing is empty, names are unique.
 */
export function historyFaults(request: ModelRequest): readonly string[] {
  const { messages, tools } = request;
  const faults = messages.flatMap((message, index) =>
    messageFaults(message, messages[index - 1], messages[index + 1]).map((fault) => `messages[${index}]: ${fault}`),
  );
  if (messages[0]?.role !== 'user') faults.push('messages: the first message is not from the user');
  if (messages.at(-1)?.role === 'assistant') faults.push('messages: the last message is the model’s own');
  const names = tools.map((tool) => tool.name);
  if (new Set(names).size < names.length) faults.push('tools: two tools have one name');
  return faults;
}

function messageFaults(message: Message, before: Message | undefined, after: Message | undefined): readonly string[] {
  const faults: string[] = [];
  if (message.content.length === 0) faults.push(`an empty ${message.role} message`);
  for (const part of message.content)
    if (part.type === 'text' && part.text.trim() === '') faults.push('a text without content');
  if (message.role === 'assistant') faults.push(...callFaults(callIds(message), after));
  if (message.role === 'tool' && callIds(before).length === 0) faults.push('results without a message that called');
  return faults;
}

function callFaults(calls: readonly string[], after: Message | undefined): readonly string[] {
  const results = after?.role === 'tool' ? after.content.map((part) => part.id) : [];
  if (calls.length === 0 && results.length === 0) return [];
  const faults: string[] = [];
  if (new Set(calls).size < calls.length) faults.push('two calls have one id');
  if (new Set(results).size < results.length) faults.push('two results for one call');
  for (const id of calls) if (!results.includes(id)) faults.push(`call ${id} has no result right after it`);
  for (const id of results) if (!calls.includes(id)) faults.push(`the result ${id} answers no call`);
  return faults;
}

function callIds(message: Message | undefined): readonly string[] {
  if (message?.role !== 'assistant') return [];
  return message.content.flatMap((part) => (part.type === 'call' ? [part.id] : []));
}
