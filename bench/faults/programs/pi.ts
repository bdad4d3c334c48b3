import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { peerModule, type Program, type Task, toolDescription } from './program.ts';

const { Agent } = await import(peerModule('@earendil-works/pi-agent-core'));
const { createModels, createProvider } = await import(peerModule('@earendil-works/pi-ai'));
const { openAICompletionsApi } = await import(peerModule('@earendil-works/pi-ai/api/openai-completions.lazy'));

interface Message {
  readonly role: string;
  readonly stopReason?: string;
  readonly errorMessage?: string;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

interface Event {
  readonly type: string;
  readonly message?: Message;
  readonly assistantMessageEvent?: { readonly type: string; readonly delta?: string };
}

/** pi's agent with its defaults; its messages saved as they end. */
export const program: Program = async (task) => {
  const file = task.store === undefined ? undefined : join(task.store, 'messages.jsonl');
  const { model, streamFn } = makeModel(task);
  const saved = file !== undefined && existsSync(file) ? load(file) : [];
  const agent = new Agent({
    initialState: { systemPrompt: 'Do the task.', model, tools: [recordTool(task)], messages: saved },
    streamFn,
  });
  agent.subscribe((event: Event) => {
    const update = event.assistantMessageEvent;
    if (event.type === 'message_update' && update?.type === 'text_delta') task.show(update.delta ?? '');
    if (event.type === 'message_end' && file !== undefined) appendFileSync(file, `${JSON.stringify(event.message)}\n`);
  });
  if (saved.length > 0) await agent.continue();
  else await agent.prompt(task.prompt);
  const last = (agent.state.messages as readonly Message[]).at(-1);
  if (last === undefined || last.stopReason === 'error' || last.stopReason === 'aborted')
    throw new Error(last?.errorMessage ?? 'no message');
  return { text: last.content.map((part) => part.text ?? '').join('') };
};

function load(file: string): readonly Message[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Message);
}

function makeModel(task: Task): { readonly model: unknown; readonly streamFn: unknown } {
  const known = {
    id: 'lab',
    name: 'Lab',
    api: 'openai-completions',
    provider: 'lab',
    baseUrl: task.baseUrl,
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1_000_000,
    maxTokens: 32_000,
  };
  const models = createModels();
  models.setProvider(
    createProvider({
      id: 'lab',
      name: 'Lab',
      baseUrl: task.baseUrl,
      auth: { apiKey: { name: 'Lab', resolve: async () => ({ auth: { apiKey: 'test' } }) } },
      models: [known],
      api: openAICompletionsApi(),
    }),
  );
  const more = {
    ...(task.timeouts ? { timeoutMs: 10_000 } : {}),
    ...(task.fetch === undefined ? {} : { fetch: task.fetch }),
  };
  const streamFn = (model: unknown, context: unknown, options: object): unknown =>
    models.streamSimple(model, context, { ...options, ...more });
  return { model: models.getModel('lab', 'lab'), streamFn };
}

function recordTool(task: Task): object {
  return {
    name: 'record',
    label: 'Record',
    description: toolDescription,
    parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    execute: async (_call: string, { id }: { id: string }) => ({
      content: [{ type: 'text', text: await task.record(id) }],
      details: undefined,
    }),
  };
}
