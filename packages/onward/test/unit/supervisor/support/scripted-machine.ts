import type { Holder } from '../../../../src/kernel/journal.ts';
import type {
  AttemptHost,
  AttemptSpec,
  LaunchInput,
  LeftAttempt,
  Locked,
  ProcessEnding,
  SpoolLine,
} from '../../../../src/supervisor/index.ts';
import { type AgentScript, newSpool, ScriptedAgent, type Spool } from './scripted-agent.ts';

/** A computer without processes: what hosts of several `onward` processes share, and what a test looks at. */
export class ScriptedMachine {
  /** What the next started processes do, in order. */
  readonly scripts: AgentScript[] = [];
  readonly agents: ScriptedAgent[] = [];
  readonly launches: LaunchInput[] = [];
  readonly spools: Map<string, Spool> = new Map();
  readonly locks: Map<string, number> = new Map();
  /** Conversation files by id. */
  readonly sessions: Map<string, string> = new Map();
  /** Copies of them, in order: marker and content at that moment. */
  readonly copies: { readonly marker: string; readonly content: string }[] = [];
  readonly endings: ProcessEnding[] = [];
  /** Errors that scripts threw; a test that ends with one in here is wrong. */
  readonly scriptErrors: unknown[] = [];
  readonly dead: Set<number> = new Set();
  account = 'account-1';
  workspace: string | undefined;
  identifyFails = false;
  endingFails = false;
  fingerprintFails = false;
  /** Runs before a process is started, e.g. to cancel in that moment. */
  beforeStart: () => void | Promise<void> = () => undefined;
  beforeLock: (sessionId: string) => void | Promise<void> = () => undefined;
  beforeCopy: () => void | Promise<void> = () => undefined;
  /** What goes wrong when the next process is started. */
  startThrows: Error | undefined;
  startFails: { readonly code: string; readonly message: string } | undefined;
  #pids = 1_000;

  /** Ends a host process as `kill -9` would: its locks are free, its agents are ended by their guards. */
  kill(pid: number): void {
    this.dead.add(pid);
    for (const [key, holder] of this.locks) if (holder === pid) this.locks.delete(key);
    for (const agent of this.agents) if (hostOf.get(agent) === pid) agent.exit(null, 'SIGKILL');
  }

  /** Agents that live. */
  alive(): readonly ScriptedAgent[] {
    return this.agents.filter((agent) => agent.isAlive);
  }

  /** The machine as one `onward` process sees it. */
  host(pid: number, name = 'here'): AttemptHost {
    const holder: Holder = { id: `holder-${pid}`, host: name, pid, startedAt: `t${pid}` };
    return {
      holder,
      isDead: (other) => this.dead.has(other.pid),
      inspect: async (program) => ({ ok: true, binary: `/bin/${program}`, version: '1.2.3' }),
      lock: (agent, id) => this.#lock(`${agent} ${id}`, id, pid),
      start: (spec) => this.#start(spec, pid),
      leftBy: (marker) => this.#leftBy(marker),
      copySession: async (path, marker) => {
        await this.beforeCopy();
        this.copies.push({ marker, content: this.sessions.get(path.replace('session:', '')) ?? '' });
        return `copy:${marker}`;
      },
      tail: async (path, bytes) => (this.sessions.get(path.replace('session:', '')) ?? '').slice(-bytes),
      fingerprint: async () => {
        if (this.fingerprintFails) throw new Error('git fell over');
        return this.workspace;
      },
    };
  }

  async #lock(key: string, id: string, pid: number): Promise<Locked> {
    await this.beforeLock(id);
    // A dead process takes nothing and starts nothing, however far its program has come.
    if (this.dead.has(pid)) return new Promise(() => undefined);
    const holder = this.locks.get(key);
    if (holder !== undefined && holder !== pid) return { ok: false, pid: holder };
    this.locks.set(key, pid);
    return { ok: true, release: () => void this.locks.delete(key) };
  }

  async #start(spec: AttemptSpec, hostPid: number): ReturnType<AttemptHost['start']> {
    await this.beforeStart();
    if (this.dead.has(hostPid)) return new Promise(() => undefined);
    const { startThrows, startFails } = this;
    this.startThrows = undefined;
    this.startFails = undefined;
    if (startThrows !== undefined) throw startThrows;
    if (startFails !== undefined) return { ok: false, failure: { process: 'spawn-failed', ...startFails } };
    const spool = newSpool();
    this.spools.set(spec.marker, spool);
    const agent = new ScriptedAgent(this.#pids++, spec, spool);
    hostOf.set(agent, hostPid);
    this.agents.push(agent);
    const script = this.scripts[this.agents.length - 1] ?? unexpected;
    void (async () => script(agent))().catch((error: unknown) => {
      this.scriptErrors.push(error);
      agent.exit(70);
    });
    return { ok: true, attempt: agent };
  }

  async #leftBy(marker: string): Promise<LeftAttempt> {
    const spool = this.spools.get(marker);
    const living = this.agents.filter((agent) => agent.spec.marker === marker && agent.isAlive);
    for (const agent of living) agent.exit(null, 'SIGKILL');
    return {
      swept: { gone: true, killed: living.length },
      begun: spool !== undefined,
      lines: listed(spool?.lines ?? []),
      stderr: spool?.stderr ?? '',
    };
  }
}

const hostOf = new WeakMap<ScriptedAgent, number>();

const unexpected: AgentScript = (agent) => {
  throw new Error(`nobody said what process ${agent.spec.marker} does`);
};

async function* listed(lines: readonly SpoolLine[]): AsyncGenerator<SpoolLine> {
  yield* lines;
}
