import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { installFakeCli, type CliName, type FakeCli, type Play } from '../../../../src/lab/fake-cli/index.ts';
import type { StoredEvent } from '../../../../src/kernel/envelope.ts';
import { systemClock, systemRandom } from '../../../../src/processes/index.ts';
import { openSqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { RunResult, RunStreamEvent } from '../../../../src/supervisor/index.ts';
import type { Program } from '../fixtures/program.ts';

const fixture = join(import.meta.dirname, '../fixtures/program.ts');

/** A home, a project and a journal of one test, with a stand-in for an agent; gone afterwards, with all that ran in it. */
export interface Place {
  readonly root: string;
  readonly cwd: string;
  readonly journal: string;
  readonly effectsFile: string;
  readonly agent: FakeCli;
  /** Starts the program with these orders. */
  start(orders: Partial<Program> & Pick<Program, 'do'>): Ran;
  /** Starts it and waits for its end. */
  run(orders: Partial<Program> & Pick<Program, 'do'>): Promise<Report>;
  events(id: string): Promise<readonly StoredEvent[]>;
  /** The only run there is; `undefined` when none was accepted. */
  onlyRun(): Promise<string | undefined>;
  effects(): readonly string[];
  /** Starts of the agent that were more than a question for its version. */
  starts(): ReturnType<FakeCli['invocations']>;
  /** What a person would type in the project. */
  shell(line: string): Promise<number | null>;
  /** Live processes of this place, but not this test's own programs. */
  left(): Promise<readonly string[]>;
}

export interface Report {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly id: string | undefined;
  readonly events: readonly RunStreamEvent[];
  readonly result: RunResult | undefined;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  readonly commits: number | undefined;
  readonly grownMb: number | undefined;
  readonly count: number | undefined;
  readonly stderr: string;
}

export interface Ran {
  readonly pid: number;
  readonly report: Promise<Report>;
  /** Events so far. */
  readonly events: RunStreamEvent[];
  kill(signal: NodeJS.Signals): void;
}

/** Waits that take no time, and enough of them. */
export const quick: { readonly retry: { readonly scheduleMs: readonly number[]; readonly jitter: number } } = {
  retry: { scheduleMs: [50, 50, 50, 50, 50, 50], jitter: 0 },
};

export async function makePlace(play: Play, name: CliName = 'claude'): Promise<Place> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'onward-e2e-')));
  const [cwd, home] = [join(root, 'project'), join(root, 'home')];
  for (const folder of [cwd, home]) mkdirSync(folder);
  const journal = join(root, 'state', 'journal.db');
  const agent = installFakeCli({ dir: join(root, 'bin'), name, play });
  const effectsFile = join(cwd, 'effects.log');
  onTestFinished(async () => {
    for (const pid of await pidsOf(root)) end(pid);
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  });
  const command =
    name === 'claude' ? ['claude', '-p', 'do the task', '--allowedTools', 'Bash'] : ['codex', 'exec', 'do the task'];
  const base = { journal, stateDir: join(root, 'state'), cwd, command, policy: quick };
  const env = {
    PATH: `${agent.dir}:${process.env['PATH'] ?? ''}`,
    HOME: home,
    ANTHROPIC_API_KEY: 'sk-test-not-a-key',
    OPENAI_API_KEY: 'sk-test-not-a-key',
  };
  const start: Place['start'] = (orders) =>
    startProgram(
      { ...base, starts: join(agent.dir, `.fake-${name}`, 'invocations.jsonl'), effects: effectsFile, ...orders },
      env,
      cwd,
    );
  const store = () => openSqliteJournal({ path: journal, clock: systemClock, random: systemRandom });
  return {
    root,
    cwd,
    journal,
    effectsFile,
    agent,
    start,
    run: (orders) => start(orders).report,
    events: async (id) => {
      const opened = await store();
      const events = await opened.read(`run:${id}`);
      await opened.close();
      return events;
    },
    onlyRun: async () => {
      if (!existsSync(journal)) return undefined;
      const opened = await store();
      const [stream] = await opened.streams('run:');
      await opened.close();
      return stream?.slice('run:'.length);
    },
    effects: () => (existsSync(effectsFile) ? readFileSync(effectsFile, 'utf8').split('\n').slice(0, -1) : []),
    shell: (line) => {
      const child = spawn('/bin/sh', ['-c', line], { cwd, env, stdio: 'ignore' });
      return new Promise((resolve) => child.once('close', resolve));
    },
    starts: () => agent.invocations().filter((invocation) => !invocation.argv.includes('--version')),
    left: async () =>
      (await pidsOf(root)).map((pid) => `${pid} ${commandOf(pid)}`).filter((line) => !line.includes(fixture)),
  };
}

function startProgram(program: Program, env: Record<string, string>, cwd: string): Ran {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', fixture, JSON.stringify(program)], {
    env,
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  onTestFinished(() => kill('SIGKILL'));
  const lines: Record<string, unknown>[] = [];
  const events: RunStreamEvent[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as Record<string, unknown>;
    if ('event' in said) events.push(said['event'] as RunStreamEvent);
    else lines.push(said);
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const said = (key: string): unknown => lines.find((line) => key in line)?.[key];
  const report = new Promise<Report>((resolve) => {
    child.once('close', (code, signal) =>
      resolve({
        code,
        signal,
        events,
        stderr,
        id: said('id') as string | undefined,
        result: said('result') as RunResult | undefined,
        error: said('error') as Report['error'],
        commits: said('commits') as number | undefined,
        grownMb: said('grownMb') as number | undefined,
        count: said('count') as number | undefined,
      }),
    );
  });
  return { pid: child.pid ?? 0, report, events, kill };
}

/** Processes whose environment names the place. */
async function pidsOf(root: string): Promise<readonly number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return names.map(Number).filter((pid) => pid !== process.pid && isIn(pid, root));
}

function isIn(pid: number, root: string): boolean {
  try {
    if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(root)) return false;
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.startsWith('Z') === false;
  } catch {
    return false;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 200);
  } catch {
    return '';
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone already.
  }
}
