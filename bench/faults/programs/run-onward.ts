import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type Agent,
  type AgentEvent,
  type AnyTool,
  aiSdkModel,
  createAgent,
  openAgent,
  openJournal,
  type PromptHandle,
  type Settlement,
  tool,
} from 'onward/agent';
import { z } from 'zod';
import { recordedText } from '../script.ts';
import { type Ending, type Task, toolDescription } from './program.ts';

/** The task by Onward; after a kill it opens the session with `recover`, and asks to go on where that was not enough. */
export async function runOnward(task: Task, declared: boolean): Promise<Ending> {
  const agent = await agentOf(task, declared);
  const screen = new Screen(task);
  const before = task.resume ? agent.handle(readFileSync(idFile(task), 'utf8')) : undefined;
  let settlement = before === undefined ? undefined : await follow(before, screen);
  if (settlement?.kind !== 'done') {
    const handle = agent.followup(task.resume ? 'Go on.' : task.prompt);
    if (task.store !== undefined) writeFileSync(idFile(task), handle.id);
    settlement = await follow(handle, screen);
  }
  await agent[Symbol.asyncDispose]();
  if (settlement.kind === 'done') return { text: settlement.text, onScreen: screen.text(), printed: screen.printed };
  const facts = settlement.kind === 'failed' ? { ...settlement.failure, class: settlement.class } : {};
  throw Object.assign(new Error(settlement.kind), facts, { name: settlement.kind });
}

async function agentOf(task: Task, declared: boolean): Promise<Agent> {
  const provider = createOpenAICompatible({ name: 'lab', baseURL: task.baseUrl, apiKey: 'test' });
  const options = {
    model: aiSdkModel(provider('lab')),
    instructions: 'Do the task.',
    tools: [recordTool(task, declared)],
    ...(task.timeouts ? { watchdogs: { headersMs: 10_000, idleMs: 10_000 } } : {}),
  };
  if (task.store === undefined) return await createAgent(options);
  const journal = await openJournal(join(task.store, 'journal.db'));
  if (task.resume) return await openAgent('bench', { ...options, journal, recover: true });
  return await createAgent({ ...options, id: 'bench', journal });
}

function idFile(task: Task): string {
  return join(task.store ?? '', 'prompt');
}

function recordTool(task: Task, declared: boolean): AnyTool {
  return tool<{ id: string }>({
    name: 'record',
    description: toolDescription,
    input: z.object({ id: z.string() }),
    run: ({ id }) => task.record(id),
    ...(declared
      ? {
          effect: {
            lookup: async (_key, { id }) =>
              task.isRecorded(id) ? { kind: 'accepted', receipt: recordedText(id) } : { kind: 'absent' },
            // Once the tool's process is gone, the file says all that there is to know.
            settleMs: 0,
          },
        }
      : {}),
  });
}

/** Shows events until the prompt has come to its first stop. */
async function follow(handle: PromptHandle, screen: Screen): Promise<Settlement> {
  const stop = new AbortController();
  const shown = (async (): Promise<void> => {
    for await (const event of handle.events({ signal: stop.signal })) screen.take(event);
  })();
  const settled = await handle.settled;
  if (settled.kind === 'waiting') stop.abort();
  await shown;
  return settled;
}

/** What two kinds of consumers have of the events: one shows each piece and takes back failed attempts, one waits for answers. */
class Screen {
  printed = '';
  readonly #task: Task;
  readonly #pieces = new Map<string, string>();
  readonly #blocks = new Map<string, string>();

  constructor(task: Task) {
    this.#task = task;
  }

  take(event: AgentEvent): void {
    if (event.type === 'live.delta' && event.kind === 'text') {
      this.#task.show(event.text);
      append(this.#pieces, event, event.text);
    }
    if (event.type === 'block.closed' && event.data.part.type === 'text')
      append(this.#blocks, event.data, event.data.part.text);
    if (event.type === 'answer.completed') this.printed += this.#blocks.get(keyOf(event.data)) ?? '';
    // The step is closed without an answer: what was shown of it is superseded.
    if (event.type === 'step.closed' && event.data.outcome === 'failed') this.#pieces.delete(keyOf(event.data));
  }

  text(): string {
    return [...this.#pieces.values()].join('');
  }
}

interface Step {
  readonly turn: number;
  readonly step: number;
}

function keyOf({ turn, step }: Step): string {
  return `${turn}/${step}`;
}

function append(to: Map<string, string>, step: Step, text: string): void {
  to.set(keyOf(step), (to.get(keyOf(step)) ?? '') + text);
}
