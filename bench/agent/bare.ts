import type { LanguageModelV4, LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Message, Model } from 'onward/agent';

type Tool = (input: { readonly id: string }) => Promise<string>;

const inputSchema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const;

/**
 * What an agent costs at the very least: a list of messages, a request with all of them, the pieces of its answer put together,
 * the tool, its result. Nothing is checked, kept or told to anybody; any fault ends it. Returns the last text.
 */
export async function bareOverParts(model: Model, tool: Tool, messages: Message[]): Promise<string> {
  const tools = [{ name: 'record', description: 'Records one item.', input: inputSchema }];
  const { signal } = new AbortController();
  for (;;) {
    const pieces: { text: string; call?: { id: string; tool: string } }[] = [];
    // oxlint-disable-next-line no-await-in-loop -- a conversation
    for await (const part of model.stream({ system: 'Do the task.', messages, tools, settings: {} }, signal)) {
      if (part.type === 'block')
        pieces[part.block] = { text: '', ...(part.kind === 'call' ? { call: { id: part.id, tool: part.tool } } : {}) };
      const piece = part.type === 'delta' ? pieces[part.block] : undefined;
      if (part.type === 'delta' && piece !== undefined) piece.text += part.text;
      if (part.type === 'failed') throw new Error(part.failure.message);
    }
    const content = pieces.map(({ text, call }) =>
      call === undefined
        ? ({ type: 'text', text } as const)
        : ({ type: 'call', ...call, input: JSON.parse(text) as { id: string } } as const),
    );
    messages.push({ role: 'assistant', content, model: model.id });
    const results = [];
    for (const part of content) {
      if (part.type !== 'call') continue;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      results.push({ type: 'result', id: part.id, tool: part.tool, output: await tool(part.input) } as const);
    }
    if (results.length === 0) return pieces[0]?.text ?? '';
    messages.push({ role: 'tool', content: results });
  }
}

/**
 * The same over a model of the AI SDK, as everybody has it who calls `doStream` without any library around it. `keep` is told of
 * each message before it goes on.
 */
export async function bareOverProvider(
  model: LanguageModelV4,
  tool: Tool,
  messages: LanguageModelV4Prompt,
  keep: (message: LanguageModelV4Message) => void,
): Promise<string> {
  const tools = [{ type: 'function', name: 'record', description: 'Records one item.', inputSchema } as const];
  const add = (message: LanguageModelV4Message): void => {
    messages.push(message);
    keep(message);
  };
  for (;;) {
    let text = '';
    const content: (LanguageModelV4Message & { role: 'assistant' })['content'] = [];
    const results: (LanguageModelV4Message & { role: 'tool' })['content'] = [];
    // oxlint-disable-next-line no-await-in-loop -- a conversation
    const { stream } = await model.doStream({ prompt: messages, tools });
    // oxlint-disable-next-line no-await-in-loop -- as above
    for await (const part of stream) {
      if (part.type === 'text-delta') text += part.delta;
      if (part.type === 'error') throw part.error;
      if (part.type === 'tool-call') {
        const input = JSON.parse(part.input) as { id: string };
        const { toolCallId, toolName } = part;
        content.push({ type: 'tool-call', toolCallId, toolName, input });
        results.push({ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: await tool(input) } });
      }
    }
    add({ role: 'assistant', content: [{ type: 'text', text }, ...content] });
    if (results.length === 0) return text;
    add({ role: 'tool', content: results });
  }
}
