import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type ModelMessage, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { type Program, type Task, toolDescription } from './program.ts';

function own(task: Task): Pick<Task, 'fetch'> {
  return task.fetch === undefined ? {} : { fetch: task.fetch };
}

/** The AI SDK as its quick start has it: `streamText`, `textStream`, `onError`; messages saved at the end of each step. */
export const program: Program = async (task) => {
  const provider = createOpenAICompatible({ name: 'lab', baseURL: task.baseUrl, apiKey: 'test', ...own(task) });
  const file = task.store === undefined ? undefined : join(task.store, 'messages.json');
  const before: ModelMessage[] =
    file !== undefined && existsSync(file)
      ? (JSON.parse(readFileSync(file, 'utf8')) as ModelMessage[])
      : [{ role: 'user', content: task.prompt }];
  const saved = [...before];
  let hidden: unknown;
  const result = streamText({
    model: provider('lab'),
    messages: before,
    tools: {
      record: tool({
        description: toolDescription,
        inputSchema: z.object({ id: z.string() }),
        execute: ({ id }) => task.record(id),
      }),
    },
    stopWhen: stepCountIs(5000),
    ...(task.timeouts ? { timeout: { firstChunkMs: 10_000, chunkMs: 10_000 } } : {}),
    onError: ({ error }) => {
      hidden = error;
    },
    onStepFinish: ({ response }) => {
      // Each step hands over its own messages only.
      saved.push(...response.messages);
      if (file !== undefined) writeFileSync(file, JSON.stringify(saved));
    },
  });
  for await (const text of result.textStream) task.show(text);
  return { text: await result.text, ...(hidden === undefined ? {} : { hidden }) };
};
