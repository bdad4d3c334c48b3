import { onTestFinished } from 'vitest';
import { serveAcp, type ServeAcpOptions } from '../../../../src/acp/index.ts';
import type { Journal } from '../../../../src/kernel/journal.ts';
import { createRedactor } from '../../../../src/kernel/redact.ts';
import { createAgent, type Agent, type CreateAgentOptions, openAgent } from '../../../../src/library/agent/index.ts';
import { createMemoryJournal } from '../../../../src/stores/memory/index.ts';
import { systemClock } from '../../../../src/processes/index.ts';
import { connectEditor, type Editor, type EditorOptions } from './editor.ts';

/** A server in this process, an editor, and what lies behind them. */
export interface Rig {
  readonly editor: Editor;
  readonly journal: Journal;
  /** Agents that the server has asked for, in order. */
  readonly agents: readonly Agent[];
  readonly log: readonly string[];
  readonly served: Promise<void>;
  /** Writes bytes as they are into the server's input. */
  readonly raw: (bytes: string | Uint8Array) => Promise<void>;
  readonly newSession: () => Promise<string>;
  /** Ends the server's input. */
  readonly end: () => Promise<void>;
  /** The wire from the server, line by line. */
  readonly lines: readonly string[];
}

/** What the agents are made of. */
export type RigOptions = Omit<CreateAgentOptions, 'journal' | 'id' | 'name'> &
  EditorOptions & {
    readonly journal?: Journal;
    readonly serve?: Partial<ServeAcpOptions>;
    /** True: bytes go in by `raw` alone. */
    readonly bare?: true;
  };

export const cwd = '/home/me/project';

/** Starts all of it, and ends it with the test. */
export async function startRig(options: RigOptions): Promise<Rig> {
  const { journal = createMemoryJournal({ clock: systemClock }), serve, notices, onPermission, bare, ...own } = options;
  const agents: Agent[] = [];
  const log: string[] = [];
  const lines: string[] = [];
  const toAgent = new TransformStream<Uint8Array, Uint8Array>();
  const fromAgent = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      lines.push(...new TextDecoder().decode(chunk).split('\n').filter(Boolean));
      controller.enqueue(chunk);
    },
  });
  const kept = async (making: Promise<Agent>): Promise<Agent> => {
    const agent = await making;
    agents.push(agent);
    return agent;
  };
  const served = serveAcp({
    input: toAgent.readable,
    output: fromAgent.writable,
    sessions: {
      create: async (folder) => await kept(createAgent({ ...own, journal, name: folder })),
      open: async (id) => await kept(openAgent(id, { ...own, journal })),
      cwdIn: (event) => (event.type === 'session.created' ? event.data.name : undefined),
    },
    journal,
    clock: systemClock,
    redactor: createRedactor({}),
    log: (line) => void log.push(line),
    version: '0.0.0',
    ...serve,
  });
  const writer = toAgent.writable.getWriter();
  const input = new WritableStream<Uint8Array>({
    write: async (chunk) => await writer.write(chunk),
    close: async () => await writer.close(),
  });
  const reader = bare === true ? drain(fromAgent.readable) : undefined;
  const editor =
    reader === undefined
      ? await connectEditor(
          { toAgent: input, fromAgent: fromAgent.readable },
          { ...(notices === undefined ? {} : { notices }), ...(onPermission === undefined ? {} : { onPermission }) },
        )
      : (undefined as unknown as Editor);
  const end = new AbortController();
  onTestFinished(async () => {
    end.abort();
    await writer.close().catch(() => undefined);
    await served;
  });
  return {
    editor,
    journal,
    agents,
    log,
    lines,
    served,
    raw: async (bytes) => await writer.write(typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes),
    end: async () => await writer.close(),
    newSession: async () => (await editor.agent.request('session/new', { cwd, mcpServers: [] })).sessionId,
  };
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
  const reader = stream.getReader();
  // oxlint-disable-next-line no-await-in-loop -- a stream
  while (!(await reader.read()).done);
}
