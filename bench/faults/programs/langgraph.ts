import { join } from 'node:path';
import { z } from 'zod';
import { peerModule, type Program, toolDescription } from './program.ts';

const { tool } = await import(peerModule('@langchain/core/tools'));
const { MemorySaver } = await import(peerModule('@langchain/langgraph'));
const { SqliteSaver } = await import(peerModule('@langchain/langgraph-checkpoint-sqlite'));
const { createReactAgent } = await import(peerModule('@langchain/langgraph/prebuilt'));
const { ChatOpenAI } = await import(peerModule('@langchain/openai'));

/** LangGraph's prebuilt agent with its defaults: a saver in memory, or in SQLite where the case needs one. */
export const program: Program = async (task) => {
  const llm = new ChatOpenAI({
    model: 'lab',
    apiKey: 'test',
    configuration: { baseURL: task.baseUrl, ...(task.fetch === undefined ? {} : { fetch: task.fetch }) },
    streaming: true,
    ...(task.timeouts ? { timeout: 10_000 } : {}),
  });
  const record = tool(({ id }: { id: string }) => task.record(id), {
    name: 'record',
    description: toolDescription,
    schema: z.object({ id: z.string() }),
  });
  const checkpointSaver =
    task.store === undefined ? new MemorySaver() : SqliteSaver.fromConnString(join(task.store, 'checkpoints.db'));
  const agent = createReactAgent({ llm, tools: [record], checkpointSaver });
  const config = { configurable: { thread_id: 'one' }, recursionLimit: 5000 };
  const input = task.resume ? null : { messages: [{ role: 'user', content: task.prompt }] };
  const options = { ...config, streamMode: 'messages', ...(task.store === undefined ? {} : { durability: 'sync' }) };
  for await (const [chunk] of await agent.stream(input, options))
    if (chunk.getType() === 'ai' && typeof chunk.content === 'string' && chunk.content !== '') task.show(chunk.content);
  const { values } = await agent.getState(config);
  return { text: String(values.messages.at(-1).content) };
};
