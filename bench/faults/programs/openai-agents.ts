import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { peerModule, type Program, toolDescription } from './program.ts';

const { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } = await import(peerModule('@openai/agents'));
const { OpenAI } = await import(peerModule('openai'));

/** The OpenAI Agents SDK with its defaults on chat completions; its documented session interface on a file. */
export const program: Program = async (task) => {
  setTracingDisabled(true);
  const client = new OpenAI({
    baseURL: task.baseUrl,
    apiKey: 'test',
    ...(task.fetch === undefined ? {} : { fetch: task.fetch }),
  });
  const agent = new Agent({
    name: 'lab',
    instructions: 'Do the task.',
    model: new OpenAIChatCompletionsModel(client, 'lab'),
    tools: [
      tool({
        name: 'record',
        description: toolDescription,
        parameters: z.object({ id: z.string() }),
        execute: ({ id }: { id: string }) => task.record(id),
      }),
    ],
    ...(task.timeouts ? { modelSettings: { timeoutMs: 10_000 } } : {}),
  });
  const session = task.store === undefined ? undefined : fileSession(join(task.store, 'session.json'));
  const input = task.resume && session !== undefined && session.size() > 0 ? 'Go on.' : task.prompt;
  const stream = await run(agent, input, {
    stream: true,
    maxTurns: 5000,
    ...(session === undefined ? {} : { session }),
  });
  for await (const event of stream)
    if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') task.show(event.data.delta);
  await stream.completed;
  return { text: String(stream.finalOutput ?? '') };
};

interface FileSession {
  size(): number;
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<unknown[]>;
  addItems(items: readonly unknown[]): Promise<void>;
  popItem(): Promise<unknown>;
  clearSession(): Promise<void>;
}

function fileSession(file: string): FileSession {
  const read = (): unknown[] => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as unknown[]) : []);
  const write = (items: readonly unknown[]): void => writeFileSync(file, JSON.stringify(items));
  return {
    size: () => read().length,
    getSessionId: async () => 'one',
    getItems: async (limit) => (limit === undefined ? read() : read().slice(-limit)),
    addItems: async (items) => write([...read(), ...items]),
    popItem: async () => {
      const items = read();
      const last = items.pop();
      write(items);
      return last;
    },
    clearSession: async () => write([]),
  };
}
