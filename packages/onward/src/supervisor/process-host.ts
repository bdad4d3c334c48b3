import { accessSync, closeSync, constants, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertNever } from '../kernel/error.ts';
import type { Failure } from '../kernel/failure.ts';
import type { Clock, Hash, Ids } from '../kernel/ports.ts';
import {
  type Agent,
  checkCwd,
  type CommandOptions,
  endAgent,
  findProgram,
  ensurePrivateDir,
  type Guard,
  hostIdentity,
  isAlive,
  type LadderStep,
  ownIdentity,
  runCommand,
  type SpawnFault,
  type SpoolItem,
  type SpoolTail,
  startAgent,
  startLastingGuard,
  sweep,
  sweepAgent,
  type SweepResult,
  tailLines,
  tryLockSession,
} from '../processes/index.ts';
import type { StopStep } from './adapter.ts';
import type {
  AttemptHost,
  AttemptSpec,
  Inspected,
  LeftAttempt,
  LiveAttempt,
  SpoolLine,
  Swept,
} from './attempt-host.ts';

/** What the real host needs. `stateDir` gets the spools and locks of this user. */
export interface ProcessHostOptions {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly hash: Hash;
  readonly ids: Ids;
  readonly env: Readonly<Record<string, string>>;
}

const stderrBytes = 65_536;

/** The machine as it is: real processes, spool files, locks. */
export function createProcessHost(options: ProcessHostOptions): AttemptHost {
  const { stateDir, clock, hash, env } = options;
  const { pid, startedAt } = ownIdentity();
  const spoolDir = (marker: string): string => join(stateDir, 'attempts', ...marker.split('.'));
  return {
    holder: { id: options.ids.uuid(), host: hostIdentity(), pid, startedAt },
    isDead: (holder) => holder.host === hostIdentity() && !isAlive(holder),
    inspect: (program, cwd) => inspect(program, { cwd, env, clock }),
    lock: async (agent, sessionId) => {
      const result = await tryLockSession({ folder: join(stateDir, 'locks'), cli: agent, sessionId });
      return result.kind === 'locked'
        ? { ok: true, release: () => result.lock.release() }
        : { ok: false, pid: result.by?.pid };
    },
    start: (spec) => start(spec, spoolDir(spec.marker), clock),
    leftBy: (marker, seen, boundMs) =>
      leftBy({ marker, seen: seen === undefined ? [] : [seen], boundMs, clock, folder: spoolDir(marker) }),
    copySession: async (path, marker) => {
      const copy = join(await ensurePrivateDir(spoolDir(marker)), 'session-before');
      await copyFile(path, copy, constants.COPYFILE_FICLONE);
      // A copy has the mode of the agent's own file.
      await chmod(copy, 0o600);
      return copy;
    },
    tail,
    fingerprint: async (cwd) => {
      const git = async (...args: readonly string[]): Promise<string | undefined> => {
        const result = await runCommand({
          argv: ['git', '-C', cwd, '--no-optional-locks', ...args],
          cwd,
          env,
          clock,
          timeoutMs: 10_000,
        });
        return result.code === 0 ? result.stdout : undefined;
      };
      const status = await git('status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all');
      if (status === undefined) return undefined;
      return hash
        .sha256(`${status}\n${(await git('diff', 'HEAD', '--no-ext-diff', '--no-textconv')) ?? ''}`)
        .slice(0, 16);
    },
  };
}

async function inspect(
  program: string,
  { cwd, env, clock }: Pick<CommandOptions, 'cwd' | 'env' | 'clock'>,
): Promise<Inspected> {
  const fault = checkCwd(cwd);
  if (fault !== undefined)
    return { ok: false, sentence: fault.sentence, next: ['Start onward in a directory that exists.'] };
  const binary = findProgram({ argv: [program], cwd, env });
  if (binary === undefined) {
    return {
      ok: false,
      sentence: `There is no program ${program} on the PATH.`,
      next: ['Install it, or give its path.', 'See what is installed: onward doctor'],
    };
  }
  if (!isExecutable(binary))
    return { ok: false, sentence: `${binary} is there but cannot be executed.`, next: [`chmod +x ${binary}`] };
  const asked = await runCommand({ argv: [binary, '--version'], cwd, env, clock, timeoutMs: 20_000 });
  const version = asked.code === 0 ? asked.stdout.trim().split('\n')[0] : undefined;
  return { ok: true, binary, version: version === undefined || version === '' ? 'unknown' : version.slice(0, 100) };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

type Started = Awaited<ReturnType<AttemptHost['start']>>;

async function start(spec: AttemptSpec, folder: string, clock: Clock): Promise<Started> {
  const guarded = await startLastingGuard({ marker: spec.marker });
  if (!guarded.started) return { ok: false, failure: spawnFailure(guarded.fault) };
  try {
    return await startGuarded(spec, folder, clock, guarded.guard);
  } catch (error) {
    await guarded.guard.release();
    throw error;
  }
}

async function startGuarded(spec: AttemptSpec, folder: string, clock: Clock, guard: Guard): Promise<Started> {
  const started = await startAgent({
    argv: spec.launch.argv,
    cwd: spec.cwd,
    env: { ...spec.env, ...spec.launch.env },
    marker: spec.marker,
    spoolDir: folder,
    stdin: { kind: 'open' },
  });
  if (!started.started) {
    await guard.release();
    return { ok: false, failure: spawnFailure(started.fault) };
  }
  guard.watch(started.agent.identity);
  return { ok: true, attempt: live(started.agent, guard, spec.marker, clock) };
}

function live(agent: Agent, guard: Guard, marker: string, clock: Clock): LiveAttempt {
  const spool = tailLines({ path: agent.stdoutPath, clock });
  void agent.exited.then(() => spool.final());
  const hurry = new AbortController();
  let ending: Promise<SweepResult> | undefined;
  return {
    ...agent.identity,
    lines: spoolLines(spool),
    hasUnread: () => spool.hasUnread(),
    exited: agent.exited,
    write: async (line) => void (await agent.write(line)),
    endInput: () => agent.endInput(),
    stop: async (steps, result) => {
      const { signal } = hurry;
      const ended = endAgent({ agent, marker, steps: steps.map(ladderStep), clock, result, signal });
      ending = ended.then(({ sweep: swept }) => swept);
      await ending;
    },
    hurry: () => hurry.abort(),
    stderr: () => tail(agent.stderrPath, stderrBytes),
    finish: async (boundMs) => {
      const before = await ending;
      // What was swept just now and is gone has left nobody who could start more.
      const last =
        before?.gone === true ? before : await sweepAgent({ identity: agent.identity, marker, clock, boundMs });
      if (last.gone) await guard.release();
      // Whatever cannot be ended may go on writing; nobody reads it any more.
      else spool.final();
      return summarise(last, last === before ? undefined : before);
    },
  };
}

function summarise(last: SweepResult, before: SweepResult | undefined): Swept {
  if (!last.gone) return { gone: false, pids: last.left.map((left) => left.pid) };
  return { gone: true, killed: last.killed.length + (before?.killed.length ?? 0) };
}

function ladderStep(step: StopStep): LadderStep {
  return step.kind === 'input' ? { kind: 'input', line: step.line, waitFor: step.until, ms: step.ms } : step;
}

interface LeftBehind {
  readonly marker: string;
  readonly seen: readonly { readonly pid: number; readonly startedAt: string }[];
  readonly boundMs: number;
  readonly clock: Clock;
  readonly folder: string;
}

async function leftBy({ marker, seen, boundMs, clock, folder }: LeftBehind): Promise<LeftAttempt> {
  const swept = summarise(await sweep({ marker, seen, clock, boundMs }), undefined);
  const path = join(folder, 'stdout');
  const begun = existsSync(path);
  const spool = tailLines({ path, clock });
  spool.final();
  return { swept, begun, lines: spoolLines(spool), stderr: await tail(join(folder, 'stderr'), stderrBytes) };
}

async function* spoolLines(spool: SpoolTail): AsyncGenerator<SpoolLine> {
  for await (const item of spool) yield spoolLine(item);
}

function spoolLine(item: SpoolItem): SpoolLine {
  switch (item.kind) {
    case 'line':
      return { text: item.line, end: item.endOffset };
    // An agent's last line may lack its line end; a torn one will not parse and says so then.
    case 'partial':
      return { text: item.line, end: item.endOffset };
    case 'invalid-utf8':
      return { rejected: 'not valid UTF-8', end: item.endOffset };
    case 'overlong':
      return { rejected: `longer than the cap: ${item.bytes} bytes`, end: item.endOffset };
    default:
      return assertNever(item, 'spoolLine');
  }
}

function spawnFailure(fault: SpawnFault): Failure {
  return { process: 'spawn-failed', code: fault.code, message: fault.sentence };
}

async function tail(path: string, bytes: number): Promise<string> {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(file);
    const from = Math.max(0, size - bytes);
    const buffer = Buffer.alloc(size - from);
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, from));
  } finally {
    closeSync(file);
  }
}
