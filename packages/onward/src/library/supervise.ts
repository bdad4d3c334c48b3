import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Journal } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import { resolvePolicy } from '../kernel/policy.ts';
import { systemClock, systemHash, systemIds, systemRandom } from '../processes/index.ts';
import { createMemoryJournal } from '../stores/memory/index.ts';
import { claudeAdapter } from '../supervisor/adapters/claude/index.ts';
import { codexAdapter } from '../supervisor/adapters/codex/index.ts';
import {
  acceptRun,
  type AgentAdapter,
  createProcessHost,
  readCommand,
  type RunResult,
  type RunStreamEvent,
  type SupervisorDeps,
} from '../supervisor/index.ts';
import { attachRun, type Supervision } from './attach.ts';

/** The agent CLIs that Onward knows. */
export const agentAdapters: readonly AgentAdapter[] = [claudeAdapter, codexAdapter];

/** What to supervise. Only `command` is needed. */
export interface SuperviseOptions {
  /** The agent's own command, e.g. `['claude', '-p', 'Fix the tests']`. */
  readonly command: readonly string[];
  /** `claude` or `codex`, when the program's name does not say it. */
  readonly agent?: string;
  readonly cwd?: string;
  readonly stdin?: string;
  /** Any part of a `Policy`; the rest is the default. */
  readonly policy?: Json;
  readonly name?: string;
  /** Replaces the fixed text that begins every continuation. */
  readonly continuation?: string;
  /** Where to record; in memory when absent, so that only a durable one survives this process. */
  readonly journal?: Journal;
  /** Where spools and locks are kept; the user's state folder when absent. */
  readonly stateDir?: string;
  /** The agent's environment; this process's when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Aborting it checkpoints the run as interrupted. */
  readonly signal?: AbortSignal;
}

/** A supervised run: its events by `for await`, its end by `result`. */
export interface SupervisedRun extends AsyncIterable<RunStreamEvent> {
  /** Resolves once the run is durable. */
  readonly id: Promise<string>;
  readonly result: Promise<RunResult>;
  interrupt(because: string): void;
  cancel(because: string): Promise<void>;
}

/**
 * Runs an agent CLI and keeps it going through overload, dropped streams, hangs and crashes, in the same conversation and
 * within bounds. Throws at once for a command or a policy that cannot be supervised; what the agent does wrong is in
 * `result`.
 */
export function supervise(options: SuperviseOptions): SupervisedRun {
  const deps = createDeps(options);
  const layers = options.policy === undefined ? [] : [{ source: 'flag' as const, values: options.policy }];
  const request = {
    command: options.command,
    cwd: options.cwd ?? process.cwd(),
    policy: resolvePolicy(layers, deps.hash),
    ...(options.agent === undefined ? {} : { agent: options.agent }),
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.continuation === undefined ? {} : { continuation: options.continuation }),
  };
  const { parsed } = readCommand(deps.adapters, request);
  const attached = acceptRun(deps, request).then((id) => attachRun({ ...deps, options: parsed.options }, id));
  return wrap(attached, options.signal);
}

function wrap(attached: Promise<Supervision>, signal: AbortSignal | undefined): SupervisedRun {
  const interrupt = (because: string): void =>
    void attached.then((run) => run.interrupt(because)).catch(() => undefined);
  if (signal !== undefined) {
    const abort = (): void => interrupt('the caller aborted');
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    const forget = (): void => signal.removeEventListener('abort', abort);
    void attached.then((run) => run.result).then(forget, forget);
  }
  const result = attached.then((run) => run.result);
  const id = attached.then((run) => run.id);
  // A caller who looks at one of them only must not die of the others.
  for (const either of [id, result]) either.catch(() => undefined);
  return {
    id,
    result,
    interrupt,
    cancel: async (because) => (await attached).cancel(because),
    async *[Symbol.asyncIterator]() {
      yield* await attached;
    },
  };
}

/** What a run needs in this process, from the options of a caller. */
export function createDeps(options: Pick<SuperviseOptions, 'journal' | 'stateDir' | 'env'>): SupervisorDeps {
  const env = definedOnly(options.env ?? process.env);
  const stateDir = options.stateDir ?? stateFolder(env);
  const ports = { clock: systemClock, random: systemRandom, ids: systemIds, hash: systemHash };
  return {
    ...ports,
    journal: options.journal ?? createMemoryJournal(ports),
    adapters: agentAdapters,
    host: createProcessHost({ ...ports, stateDir, env }),
    env,
  };
}

/** This user's folder for Onward's state: `$XDG_STATE_HOME/onward`, on macOS in Application Support. */
export function stateFolder(env: Readonly<Record<string, string | undefined>>): string {
  const home = env['HOME'] ?? homedir();
  if (env['XDG_STATE_HOME'] !== undefined && env['XDG_STATE_HOME'] !== '') return join(env['XDG_STATE_HOME'], 'onward');
  return process.platform === 'darwin'
    ? join(home, 'Library', 'Application Support', 'onward')
    : join(home, '.local', 'state', 'onward');
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );
}
