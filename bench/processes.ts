import { spawn, spawnSync } from 'node:child_process';
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installFakeCli } from 'onward/lab';
import { supervise } from 'onward/supervisor';
import { startGuard, tailLines } from '../packages/onward/dist/processes/index.js';
import { clock } from './ports.ts';
import { type Row, sideBySide } from './report.ts';

const bin = new URL('../packages/onward/bin/onward.js', import.meta.url).pathname;

/** The reader of an agent's output against `readline`, on 200,000 lines of 300 bytes. */
export async function benchLines(rounds: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  const path = join(folder, 'lines');
  writeFileSync(path, `${'y'.repeat(299)}\n`.repeat(200_000));
  const figures = await sideBySide(
    rounds,
    () => timed(() => countOurs(path)),
    () => timed(() => countByReadline(path)),
  );
  rmSync(folder, { recursive: true });
  return { what: 'read 200,000 lines (bare: readline)', unit: 'ms', aim: '<= 1.3', ...figures };
}

async function countOurs(path: string): Promise<number> {
  const spool = tailLines({ path, clock });
  spool.final();
  let count = 0;
  for await (const item of spool) count += item.kind === 'line' ? 1 : 0;
  return count;
}

async function countByReadline(path: string): Promise<number> {
  let count = 0;
  for await (const _ of createInterface({ input: createReadStream(path) })) count += 1;
  return count;
}

async function timed(count: () => Promise<number>): Promise<number> {
  const start = performance.now();
  const lines = await count();
  if (lines !== 200_000) throw new Error(`read ${lines} lines`);
  return performance.now() - start;
}

/** `onward --version` against `node -e 0`. */
export async function benchStart(rounds: number): Promise<Row> {
  const figures = await sideBySide(
    rounds,
    () => startMs([bin, '--version']),
    () => startMs(['-e', '0']),
  );
  return { what: 'onward --version (bare: node -e 0)', unit: 'ms', aim: '<= 2.5', ...figures };
}

function startMs(args: readonly string[]): number {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`${args.join(' ')} exited ${status}`);
  return performance.now() - start;
}

/**
 * An agent that answers at once, supervised many times by one process: what supervision costs beside the agent itself. The
 * other processes are the agent, and under Onward the question for its version and the guard.
 */
export async function benchSupervision(rounds: number): Promise<readonly Row[]> {
  const place = makePlace();
  const runs = { supervised: [] as Measured[], bare: [] as Measured[] };
  const ours = async (): Promise<void> => {
    const run = supervise({ command: agentCommand, cwd: place.cwd, stateDir: place.stateDir, env: place.env });
    if ((await run.result).status !== 'done') throw new Error('the no-op agent did not finish');
  };
  const bare = (): Promise<void> => runBare(place.agent, place.env, place.cwd);
  // Two rounds more than count: the first ones also load and compile the program.
  await sideBySide(
    rounds + 2,
    async () => runs.supervised.push(await measure(ours)),
    async () => runs.bare.push(await measure(bare)),
  );
  place.remove();
  const row = (what: string, aim: string, pick: (one: Measured) => number): Row => ({
    what: `no-op agent, ${what}`,
    unit: 'ms',
    aim,
    ours: runs.supervised.slice(2).map(pick),
    bare: runs.bare.slice(2).map(pick),
  });
  return [
    row('wall', '', (one) => one.wallMs),
    row('processor time of the supervising process', 'about 10 ms more', (one) => one.ownMs),
    // Counted by the system in ticks of 10 ms, so that only the mean of all rounds means something.
    {
      ...row('processor time of all other processes, mean', '', (one) => one.othersMs),
      ours: [mean(runs.supervised.map((one) => one.othersMs))],
      bare: [mean(runs.bare.map((one) => one.othersMs))],
    },
  ];
}

/** The whole of `onward run` with that agent, started cold, against a Node that does nothing: processor time of that one process. */
export async function benchColdRun(rounds: number): Promise<Row> {
  const place = makePlace();
  const report = join(place.cwd, 'cpu.json');
  const hook = `import{writeFileSync}from'node:fs';process.on('exit',()=>writeFileSync(${JSON.stringify(report)},JSON.stringify(process.cpuUsage())))`;
  const cost = (args: readonly string[]): number => {
    const argv = [
      '--disable-warning=ExperimentalWarning',
      '--import',
      `data:text/javascript,${encodeURIComponent(hook)}`,
      ...args,
    ];
    const { status } = spawnSync(process.execPath, argv, { cwd: place.cwd, env: place.env, stdio: 'ignore' });
    if (status !== 0) throw new Error(`${args.join(' ')} exited ${status}`);
    const { user, system } = JSON.parse(readFileSync(report, 'utf8')) as NodeJS.CpuUsage;
    return (user + system) / 1000;
  };
  const journal = join(place.stateDir, 'journal.db');
  const figures = await sideBySide(
    rounds,
    () => cost([bin, 'run', '--journal', journal, '--', ...agentCommand]),
    () => cost(['-e', '0']),
  );
  place.remove();
  return {
    what: 'onward run, started cold, processor time of its process (bare: node -e 0)',
    unit: 'ms',
    aim: '',
    ...figures,
  };
}

const agentCommand = ['claude', '-p', 'x'] as const;

interface Place {
  readonly agent: readonly [string, ...string[]];
  readonly env: Record<string, string>;
  readonly cwd: string;
  readonly stateDir: string;
  readonly remove: () => void;
}

/** A folder of its own with the stand-in for an agent, that answers one request at once. */
function makePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  for (const name of ['home', 'work', 'state']) mkdirSync(join(folder, name), { mode: 0o700 });
  const bins = join(folder, 'bin');
  const play = { attempts: [{ steps: [{ do: 'request' }, { do: 'answer', text: 'done' }] }] } as const;
  installFakeCli({ dir: bins, name: 'claude', play });
  const own: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(process.env)) if (!/^(ONWARD|XDG)_/.test(name)) own[name] = value;
  return {
    agent: [join(bins, 'claude'), '-p', 'x'],
    env: { ...own, HOME: join(folder, 'home'), PATH: `${bins}:${own['PATH']}` },
    cwd: join(folder, 'work'),
    stateDir: join(folder, 'state'),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** The memory of the guard while it waits, in MB. */
export async function benchGuard(): Promise<Row> {
  const started = await startGuard({ marker: `bench.${process.pid}` });
  if (!started.started) throw new Error(started.fault.sentence);
  const path = `/proc/${started.guard.identity.pid}/status`;
  let status = '';
  // It ignores SIGHUP, SIGINT and SIGTERM once the shell has begun, and then waits.
  while (!status.includes('SigIgn:\t0000000000004003')) status = readFileSync(path, 'utf8');
  await started.guard.release();
  const kilobytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN);
  const ours = [kilobytes('RssAnon') / 1024];
  return { what: 'guard beside an agent, memory of its own (RssAnon)', unit: 'MB', aim: 'about 1 MB', ours, bare: [] };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

interface Measured {
  readonly wallMs: number;
  /** Processor time of this process alone, all its threads. */
  readonly ownMs: number;
  /** Processor time of the processes it started and has seen end, with what those waited for. */
  readonly othersMs: number;
}

async function measure(work: () => Promise<void>): Promise<Measured> {
  const start = performance.now();
  const before = process.cpuUsage();
  const othersBefore = othersMs();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wallMs: performance.now() - start, ownMs: (user + system) / 1000, othersMs: othersMs() - othersBefore };
}

/** cutime and cstime of proc(5), which count in ticks of 10 ms. */
function othersMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

function runBare(argv: readonly [string, ...string[]], env: NodeJS.ProcessEnv, cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0], argv.slice(1), { env, cwd, stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the no-op agent exited ${code}`))));
  });
}
