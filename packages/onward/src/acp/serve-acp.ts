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
const goodbyeMs = 30_000;

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
  readonly #open = new Map<string, OpenSession>();
  /** Sessions that are being opened. */
  readonly #opening = new Map<string, Promise<OpenSession>>();
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
        async ({ params, client }) => await this.#guarded(async () => await this.#create(params, client)),
      )
      .onRequest(session.load, async ({ params, client }) => {
        await this.#guarded(async () => await this.#attach(params, client, true));
        return {};
      })
      .onRequest(session.resume, async ({ params, client }) => {
        await this.#guarded(async () => await this.#attach(params, client, false));
        return {};
      })
      .onRequest(
        session.list,
        async ({ params }) => await this.#guarded(async () => await listSessions(params, this.#listing())),
      )
      .onRequest(session.close, async ({ params }) => {
        const found = await this.#find(params.sessionId);
        this.#open.delete(params.sessionId);
        await this.#guarded(async () => await found.close());
        return {};
      })
      .onRequest(session.prompt, async ({ params, signal }) => {
        // Without a wait where there is nothing to wait for: a cancel that came right behind must find this prompt.
        const found = this.#open.get(params.sessionId) ?? (await this.#find(params.sessionId));
        return await this.#guarded(async () => await found.prompt(params.prompt, signal));
      })
      .onNotification(session.cancel, ({ params }) => this.#open.get(params.sessionId)?.cancel());
  }

  /** Ends all agents; waits for them, but not for ever. */
  async end(): Promise<void> {
    this.#ending ??= this.#end();
    await this.#ending;
  }

  async #end(): Promise<void> {
    const { clock, log } = this.#options;
    const over = new AbortController();
    const opening = [...this.#opening.values()].map(async (session) => await (await session).close());
    const all = [...[...this.#open.values()].map(async (session) => await session.close()), ...opening];
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
    const session = await this.#session(this.#options.sessions.create(cwd), cwd, client);
    soon(await session.attach(false));
    return { sessionId: session.id };
  }

  async #attach(
    request: { readonly sessionId: string; readonly cwd: string; readonly mcpServers?: readonly unknown[] },
    client: AgentContext,
    replay: boolean,
  ): Promise<void> {
    const { sessionId: id, cwd } = request;
    this.#check(cwd, request.mcpServers ?? []);
    const known = this.#open.get(id) ?? (await this.#opening.get(id));
    const session = known ?? (await this.#openSession(id, cwd, client));
    soon(await session.attach(replay));
  }

  async #openSession(id: string, cwd: string, client: AgentContext): Promise<OpenSession> {
    const opening = this.#session(this.#options.sessions.open(id, cwd), cwd, client);
    this.#opening.set(id, opening);
    try {
      return await opening;
    } finally {
      this.#opening.delete(id);
    }
  }

  /** The session of an agent that is being made. The client may have gone meanwhile: then the agent goes, too. */
  async #session(making: Promise<Agent>, cwd: string, client: AgentContext): Promise<OpenSession> {
    const agent = await making;
    const session = new OpenSession(agent, { cwd, notices: this.#notices }, { ...this.#options, client });
    if (this.#ending !== undefined) {
      await session.close();
      throw ending();
    }
    this.#open.set(agent.id, session);
    return session;
  }

  async #guarded<Value>(act: () => Promise<Value>): Promise<Value> {
    try {
      return await act();
    } catch (error) {
      throw toRequestError(error, this.#options.redactor);
    }
  }

  #listing(): ListOptions {
    return { ...this.#options, cwdIn: (event) => this.#options.sessions.cwdIn(event) };
  }

  #check(cwd: string, mcpServers: readonly unknown[]): void {
    if (this.#ending !== undefined) throw ending();
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, 'cwd must be an absolute path');
    if (mcpServers.length > 0)
      this.#options.log(`${mcpServers.length} MCP servers are not used: this agent has its own tools`);
  }

  async #find(id: string): Promise<OpenSession> {
    const found = this.#open.get(id) ?? (await this.#opening.get(id));
    if (found === undefined) throw RequestError.sessionNotFound(id);
    return found;
  }
}

function ending(): RequestError {
  return RequestError.invalidRequest(undefined, 'the agent is ending');
}

/** After the answer to the request has been handed to the stream. */
function soon(act: () => void): void {
  setImmediate(act);
}
