import type { Agent } from '../../agent/index.ts';
import type { Journal } from '../../kernel/journal.ts';
import type { Model } from '../../models/model.ts';
import { systemIds } from '../../processes/index.ts';
import { createAgent, openAgent } from '../agent/index.ts';
import { type Approve, approvalRule } from './approval.ts';
import { chatRecorder } from './chat-record.ts';
import { keyNames } from './resolve-model.ts';
import { chatTools } from './tools/index.ts';
import { openWorkspace } from './workspace.ts';

/** What a chat is made from. */
export interface ChatOptions {
  readonly model: Model;
  /** The directory that its tools may touch. */
  readonly cwd: string;
  readonly journal: Journal;
  /** Its id; a new one of 12 characters when absent. */
  readonly id?: string;
  /** True: the session is there already and is opened. */
  readonly open?: boolean;
  /** With `open`: a request that a crash interrupted is made again. */
  readonly recover?: boolean;
  /** What needs nobody's word; default `none`. */
  readonly approve?: Approve;
  /** Address of the API, where one was named; kept with the session. */
  readonly baseUrl?: string;
  /** What the programs see that its tools start, without the keys of models; default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: a short text about the tools. */
  readonly instructions?: string;
}

/**
 * An agent with tools to read, search, write, edit and run commands in one directory. What it works with is on record before
 * this resolves. Throws as `createAgent` and `openAgent` do.
 */
export async function createChatAgent(options: ChatOptions): Promise<Agent> {
  const { model, journal, approve = 'none', baseUrl } = options;
  const space = await openWorkspace(options.cwd);
  const record = { cwd: space.root, model: model.id, approve, ...(baseUrl === undefined ? {} : { baseUrl }) };
  const recorder = chatRecorder(record);
  const parts = {
    model,
    journal,
    name: 'chat',
    instructions: options.instructions ?? instructionsFor(space.root),
    tools: chatTools(space, approvalRule(approve), withoutKeys(options.env ?? process.env)),
    plugins: [recorder.plugin],
  };
  const id = options.id ?? systemIds.uuid().replaceAll('-', '').slice(-12);
  const agent =
    options.open === true
      ? await openAgent(id, { ...parts, recover: options.recover === true })
      : await createAgent({ ...parts, id });
  try {
    await recorder.write();
    return agent;
  } catch (error) {
    await agent[Symbol.asyncDispose]();
    throw error;
  }
}

function instructionsFor(root: string): string {
  return [
    `You help with the work in the directory ${root}, on ${process.platform}.`,
    'Use the tools: read and search before you change anything; change as little as needed; check the result.',
    'A person may deny a call: then do not try it another way. When a result says that an outcome is unknown, look before you repeat it.',
    'Answer briefly, in plain text.',
  ].join('\n');
}

/** What a command prints is kept word for word in the session: keys that we hold must not come that way. */
function withoutKeys(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const kept = Object.entries(env).flatMap(([name, value]) =>
    value === undefined || keyNames.includes(name) ? [] : [[name, value] as const],
  );
  return Object.fromEntries(kept);
}
