import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { aiSdkModel, createAgent, type Message, openJournal, tool } from 'onward/agent';
import { z } from 'zod';
import type { Program } from '../faults/programs/program.ts';
import { bareOverParts, bareOverProvider } from './bare.ts';
import { createInstant, type Instant } from './instant.ts';

/** What one process measures: conversations of some lengths, each several times. */
export interface Orders {
  /** `bare`, `onward` or the name of a peer. */
  readonly subject: string;
  /** What answers: parts made of nothing, or an OpenAI endpoint in memory behind the client of the AI SDK. */
  readonly model: 'parts' | 'provider';
  /** One prompt with `turns` calls, or `turns` prompts without one. */
  readonly shape: 'calls' | 'prompts';
  /** Where the session is kept: a folder for SQLite; absent = in memory. */
  readonly store?: string;
  /** What the tool says of its effect; default none. */
  readonly effect?: 'none' | 'untracked';
  /** Conversations of 100 turns before anything is measured. */
  readonly warmUp: number;
  readonly runs: readonly { readonly turns: number; readonly times: number }[];
}

/** What was measured of conversations of one length: the mean of one turn, and what was left at the end. */
export interface Figures {
  readonly turns: number;
  readonly cpuUs: number;
  readonly wallUs: number;
  /** Appends to the journal for each turn, counted by a wrapper around it; only of one that is handed in, in SQLite. */
  readonly appends: number;
  readonly rssMb: number;
  readonly transcriptBytes: number;
  readonly storeBytes: number;
}

type Conversation = (
  turns: number,
  folder: string | undefined,
) => Promise<{ appends: number; transcriptBytes: number }>;

const prompt = 'Record all the items, one after the other, then say that you are done.';

if (process.argv[1] === import.meta.filename) {
  const orders = JSON.parse(process.argv[2] ?? '{}') as Orders;
  const converse = await conversationOf(orders);
  // What is measured is the running program, not how long it takes to compile.
  for (let n = 0; n < orders.warmUp; n++) await converse(100, undefined);
  const figures: Figures[] = [];
  for (const run of orders.runs) figures.push(await measure(orders, run, converse));
  console.log(JSON.stringify(figures));
}

async function measure(orders: Orders, run: Orders['runs'][number], converse: Conversation): Promise<Figures> {
  const { turns, times } = run;
  const stored = storeBytes(orders.store);
  const start = performance.now();
  const before = process.cpuUsage();
  const sums = { appends: 0, transcriptBytes: 0 };
  for (let n = 0; n < times; n++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const { appends, transcriptBytes } = await converse(turns, orders.store);
    sums.appends += appends;
    sums.transcriptBytes += transcriptBytes;
  }
  const { user, system } = process.cpuUsage(before);
  const count = turns * times;
  return {
    turns,
    cpuUs: (user + system) / count,
    wallUs: ((performance.now() - start) * 1000) / count,
    appends: sums.appends / count,
    rssMb: process.memoryUsage().rss / 1e6,
    transcriptBytes: sums.transcriptBytes / times,
    storeBytes: (storeBytes(orders.store) - stored) / times,
  };
}

function storeBytes(folder: string | undefined): number {
  if (folder === undefined) return 0;
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function conversationOf(orders: Orders): Promise<Conversation> {
  const { subject, shape } = orders;
  const instant = (turns: number): Instant => createInstant(shape === 'calls' ? turns : 0);
  const prompts = (turns: number): number => (shape === 'calls' ? 1 : turns);
  switch (subject) {
    case 'bare':
      return (turns, folder) => converseBare({ ...orders, store: folder }, instant(turns), prompts(turns));
    case 'onward':
      return (turns, folder) => converseOnward({ ...orders, store: folder }, instant(turns), prompts(turns));
    default: {
      const { program } = (await import(`../faults/programs/${subject}.ts`)) as { readonly program: Program };
      return (turns) => conversePeer(program, instant(turns));
    }
  }
}

async function converseBare(
  { model: kind, store }: Pick<Orders, 'model'> & { readonly store: string | undefined },
  instant: Instant,
  prompts: number,
): ReturnType<Conversation> {
  if (kind === 'parts') {
    const messages: Message[] = [];
    for (let n = 0; n < prompts; n++) {
      messages.push({ role: 'user', content: [{ type: 'text', text: prompt }] });
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await bareOverParts(instant.model, record, messages);
    }
    return { appends: 0, transcriptBytes: JSON.stringify(messages).length };
  }
  const messages: LanguageModelV4Prompt = [{ role: 'system', content: 'Do the task.' }];
  const model = providerModel(instant);
  const kept = keeper(store);
  for (let n = 0; n < prompts; n++) {
    messages.push({ role: 'user', content: [{ type: 'text', text: prompt }] });
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await bareOverProvider(model, record, messages, kept.keep);
  }
  kept.close();
  return { appends: 0, transcriptBytes: JSON.stringify(messages).length };
}

/** A row for each message in SQLite, durable before the loop goes on; in memory nothing. */
function keeper(store: string | undefined): { readonly keep: (message: object) => void; readonly close: () => void } {
  if (store === undefined) return { keep: () => undefined, close: () => undefined };
  const db = new DatabaseSync(join(store, 'bare.db'));
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS message (n INTEGER PRIMARY KEY, at INTEGER, data TEXT)',
  );
  const insert = db.prepare('INSERT INTO message (at, data) VALUES (?, ?)');
  return { keep: (message) => insert.run(Date.now(), JSON.stringify(message)), close: () => db.close() };
}

async function converseOnward(
  orders: Omit<Orders, 'store'> & { readonly store: string | undefined },
  instant: Instant,
  prompts: number,
): ReturnType<Conversation> {
  const { store } = orders;
  const journal = store === undefined ? undefined : await openJournal(join(store, 'journal.db'));
  let appends = 0;
  if (journal !== undefined) {
    const append = journal.append.bind(journal);
    journal.append = async (batch) => {
      appends += 1;
      return await append(batch);
    };
  }
  const agent = await createAgent({
    model: orders.model === 'parts' ? instant.model : aiSdkModel(providerModel(instant)),
    instructions: 'Do the task.',
    tools: [
      tool<{ id: string }>({
        name: 'record',
        description: 'Records one item.',
        input: z.object({ id: z.string() }),
        effect: orders.effect ?? 'none',
        run: record,
      }),
    ],
    ...(journal === undefined ? {} : { journal }),
  });
  // oxlint-disable-next-line no-await-in-loop -- one after the other
  for (let n = 0; n < prompts; n++) await agent.followup(prompt).orThrow();
  const transcriptBytes = store === undefined ? 0 : JSON.stringify(agent.history()).length;
  await agent[Symbol.asyncDispose]();
  await journal?.close();
  return { appends, transcriptBytes };
}

async function conversePeer(program: Program, instant: Instant): ReturnType<Conversation> {
  const task = { baseUrl: 'http://lab.invalid/v1', prompt, resume: false, timeouts: false, fetch: instant.fetch };
  const { text } = await program({
    ...task,
    record: (id) => record({ id }),
    isRecorded: () => false,
    show: () => undefined,
  });
  if (!text.startsWith('I am going')) throw new Error(`ended with ${text}`);
  return { appends: 0, transcriptBytes: 0 };
}

async function record({ id }: { readonly id: string }): Promise<string> {
  return `recorded ${id}`;
}

function providerModel(instant: Instant): LanguageModelV4 {
  return createOpenAICompatible({
    name: 'lab',
    baseURL: 'http://lab.invalid/v1',
    apiKey: 'test',
    fetch: instant.fetch,
  })('lab');
}
