import { isAbsolute } from 'node:path';
import {
  agent as acpAgent,
  type AgentApp,
  type AgentContext,
  type InitializeRequest,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import type { Agent, SessionEvent } from '../agent/index.ts';
import type { Journal } from '../kernel/journal.ts';
import type { Clock } from '../kernel/ports.ts';
import type { Redactor } from '../kernel/redact.ts';
import type { Signal } from '../kernel/signal.ts';
import { toRequestError } from './answer.ts';
import { lineStream } from './line-stream.ts';
import { type ListOptions, listSessions } from './list-sessions.ts';
import { OpenSession } from './open-session.ts';

/** Where agents come from; made by whoever puts the program together. */
export interface AcpSessions {
  /** Begins a session in a folder. */
  create(cwd: string): Promise<Agent>;
  /** Opens one that is in the journal. Throws `session/unknown`, `session/held`. */
  open(id: string, cwd: string): Promise<Agent>;
  /** The folder that an event says its session works in: sessions of which none does are not listed. */
  cwdIn(event: SessionEvent): string | undefined;
}

/** What a server of ACP is made from. */
export interface ServeAcpOptions {
  readonly input: ReadableStream<Uint8Array>;
  /** Carries the protocol and nothing else. */
  readonly output: WritableStream<Uint8Array>;
  readonly sessions: AcpSessions;
  /** The journal that the sessions and their questions are in. */
  readonly journal: Journal;
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** For people, on standard error. */
  readonly log: (line: string) => void;
  readonly version: string;
  /** Ends serving, as the end of the input does. */
  readonly signal?: Signal;
  /** Longest line that is read, bytes. Default 64 MiB: prompts may hold images. */
  readonly maxLineBytes?: number;
}

const LONGEST_LINE = 64 * 1024 * 1024;

/** How long agents may take to end when the client is gone, ms. */
const goodbyeMs = 10_000;

/**
 * Serves one client over ACP until its input ends, its connection breaks or the signal aborts; then every agent is disposed, and
 * what it was doing is on record, for another process to load. Never rejects.
 */
export async function serveAcp(options: ServeAcpOptions): Promise<void> {
  const { input, output, clock, signal, maxLineBytes = LONGEST_LINE } = options;
  const served = new Served(options);
  const onEnd = async (): Promise<void> => await served.end();
  const stream = lineStream({ input, output, maxLineBytes, clock, signal, onEnd });
  await served.register(acpAgent({ name: 'onward' })).connect(stream).closed;
  await served.end();
}

/** What one client has open. */
class Served {
  readonly #options: ServeAcpOptions;
  readonly #open = new Map<string, Promise<OpenSession>>();
  #notices = false;
  #ending: Promise<void> | undefined;

  constructor(options: ServeAcpOptions) {
    this.#options = options;
  }

  register(app: AgentApp): AgentApp {
    const { session } = methods.agent;
    return app
      .onRequest(methods.agent.initialize, ({ params }) => this.#initialize(params))
      .onRequest(
        session.new,
        async ({ params, client }) => await guarded(async () => await this.#create(params, client)),
      )
      .onRequest(session.load, async ({ params, client }) => {
        await guarded(async () => await this.#attach(params, client, true));
        return {};
      })
      .onRequest(session.resume, async ({ params, client }) => {
        await guarded(async () => await this.#attach(params, client, false));
        return {};
      })
      .onRequest(
        session.list,
        async ({ params }) => await guarded(async () => await listSessions(params, this.#listing())),
      )
      .onRequest(session.close, async ({ params }) => {
        const found = await this.#find(params.sessionId);
        this.#open.delete(params.sessionId);
        await guarded(async () => await found.close());
        return {};
      })
      .onRequest(session.prompt, async ({ params, signal }) => {
        const found = await this.#find(params.sessionId);
        return await guarded(async () => await found.prompt(params.prompt, signal));
      })
      .onNotification(session.cancel, async ({ params }) => (await this.#open.get(params.sessionId))?.cancel());
  }

  /** Ends all agents; waits for them, but not for ever. */
  async end(): Promise<void> {
    this.#ending ??= this.#end();
    await this.#ending;
  }

  async #end(): Promise<void> {
    const { clock, log } = this.#options;
    const over = new AbortController();
    const all = [...this.#open.values()].map(async (opening) => await (await opening).close());
    this.#open.clear();
    const late = clock.sleep(goodbyeMs, over.signal).then(() => 'late' as const);
    const first = await Promise.race([Promise.allSettled(all), late]);
    over.abort();
    if (first === 'late') log('some agents did not end in time; they are left to the end of the process');
  }

  #initialize({ clientCapabilities }: InitializeRequest): InitializeResponse {
    const notices = clientCapabilities?.session?.notices;
    this.#notices = notices !== undefined && notices !== null;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'onward', title: 'Onward', version: this.#options.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
      authMethods: [],
    };
  }

  async #create(
    { cwd, mcpServers }: { readonly cwd: string; readonly mcpServers: readonly unknown[] },
    client: AgentContext,
  ): Promise<{ sessionId: string }> {
    this.#check(cwd, mcpServers);
    const agent = await this.#options.sessions.create(cwd);
    const session = this.#session(agent, cwd, client);
    this.#open.set(agent.id, Promise.resolve(session));
    soon(await session.attach(false));
    return { sessionId: agent.id };
  }

  async #attach(
    request: { readonly sessionId: string; readonly cwd: string; readonly mcpServers?: readonly unknown[] },
    client: AgentContext,
    replay: boolean,
  ): Promise<void> {
    const { sessionId: id, cwd } = request;
    this.#check(cwd, request.mcpServers ?? []);
    const opening = this.#open.get(id) ?? this.#openSession(id, cwd, client);
    this.#open.set(id, opening);
    try {
      soon(await (await opening).attach(replay));
    } catch (error) {
      this.#open.delete(id);
      throw error;
    }
  }

  async #openSession(id: string, cwd: string, client: AgentContext): Promise<OpenSession> {
    return this.#session(await this.#options.sessions.open(id, cwd), cwd, client);
  }

  #session(agent: Agent, cwd: string, client: AgentContext): OpenSession {
    return new OpenSession(agent, { cwd, notices: this.#notices }, { ...this.#options, client });
  }

  #listing(): ListOptions {
    return { ...this.#options, cwdIn: (event) => this.#options.sessions.cwdIn(event) };
  }

  #check(cwd: string, mcpServers: readonly unknown[]): void {
    if (this.#ending !== undefined) throw RequestError.invalidRequest(undefined, 'the agent is ending');
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be an absolute path');
    if (mcpServers.length > 0)
      this.#options.log(`${mcpServers.length} MCP servers are not used: this agent has its own tools`);
  }

  async #find(id: string): Promise<OpenSession> {
    const found = await this.#open.get(id);
    if (found === undefined) throw RequestError.sessionNotFound(id);
    return found;
  }
}

/** After the answer to the request has been handed to the stream. */
function soon(act: () => void): void {
  setImmediate(act);
}

async function guarded<Value>(act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    throw toRequestError(error);
  }
}
