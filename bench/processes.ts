import { spawn, spawnSync } from 'node:child_process';
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installFakeCli } from 'onward/lab';
import { supervise } from 'onward/supervisor';
import { startGuard, tailLines } from '../packages/onward/dist/processes/index.js';
import { clock } from './ports.ts';
import { median, type Row } from './report.ts';

const bin = new URL('../packages/onward/bin/onward.js', import.meta.url).pathname;

/** The reader of an agent's output against `readline`, on 200,000 lines of 300 bytes. */
export async function benchLines(rounds: number): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  const path = join(folder, 'lines');
  writeFileSync(path, `${'y'.repeat(299)}\n`.repeat(200_000));
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let start = performance.now();
    const spool = tailLines({ path, clock });
    spool.final();
    let count = 0;
    // oxlint-disable-next-line no-await-in-loop -- in turn
    for await (const item of spool) count += item.kind === 'line' ? 1 : 0;
    ours.push(performance.now() - start);
    start = performance.now();
    let other = 0;
    // oxlint-disable-next-line no-await-in-loop -- in turn
    for await (const _ of createInterface({ input: createReadStream(path) })) other += 1;
    bare.push(performance.now() - start);
    if (count !== 200_000 || other !== 200_000) throw new Error(`read ${count} and ${other} lines`);
  }
  rmSync(folder, { recursive: true });
  return {
    what: 'read 200,000 lines (bare: readline)',
    ours: median(ours),
    bare: median(bare),
    unit: 'ms',
    better: 'lower',
    aim: '<= 1.3',
  };
}

/** `onward --version` against `node -e 0`. */
export function benchStart(rounds: number): Row {
  const ours = Array.from({ length: rounds }, () => timed([bin, '--version']));
  const bare = Array.from({ length: rounds }, () => timed(['-e', '0']));
  return {
    what: 'onward --version (bare: node -e 0)',
    ours: median(ours),
    bare: median(bare),
    unit: 'ms',
    better: 'lower',
    aim: '<= 2.5',
  };
}

function timed(args: readonly string[]): number {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`${args.join(' ')} exited ${status}`);
  return performance.now() - start;
}

/** An agent that answers at once, supervised many times by one process: what supervision costs beside the agent itself. */
export async function benchSupervision(rounds: number): Promise<readonly Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'onward-bench-'));
  for (const name of ['home', 'work']) mkdirSync(join(folder, name));
  const play = { attempts: [{ steps: [{ do: 'request' }, { do: 'answer', text: 'done' }] }] } as const;
  installFakeCli({ dir: join(folder, 'bin'), name: 'claude', play });
  const env = { ...process.env, HOME: join(folder, 'home'), PATH: `${join(folder, 'bin')}:${process.env['PATH']}` };
  const supervised: Measured[] = [];
  const bare: Measured[] = [];
  // Two rounds more than count: the first ones also load and compile the program.
  for (let round = -2; round < rounds; round++) {
    // oxlint-disable-next-line no-await-in-loop -- in turn
    const ours = await measure(async () => {
      const run = supervise({
        command: ['claude', '-p', 'x'],
        cwd: join(folder, 'work'),
        stateDir: join(folder, 'state'),
        env,
      });
      if ((await run.result).status !== 'done') throw new Error('the no-op agent did not finish');
    });
    // oxlint-disable-next-line no-await-in-loop -- in turn
    const other = await measure(() => runBare([join(folder, 'bin', 'claude'), '-p', 'x'], env, join(folder, 'work')));
    if (round < 0) continue;
    supervised.push(ours);
    bare.push(other);
  }
  rmSync(folder, { recursive: true });
  const row = (what: string, pick: (one: Measured) => number, unit: string, aim: string): Row => ({
    what,
    ours: median(supervised.map(pick)),
    bare: median(bare.map(pick)),
    unit,
    better: 'lower',
    aim,
  });
  return [
    row('no-op agent, wall', (one) => one.wallMs, 'ms', ''),
    row('no-op agent, processor time of the supervising process', (one) => one.ownMs, 'ms', 'about 10 ms more'),
  ];
}

/** The memory of the guard while it waits, in MB. */
export async function benchGuard(): Promise<Row> {
  const started = await startGuard({ marker: `bench.${process.pid}` });
  if (!started.started) throw new Error(started.fault.sentence);
  const status = readFileSync(`/proc/${started.guard.identity.pid}/status`, 'utf8');
  await started.guard.release();
  const kilobytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN);
  return {
    what: 'guard beside an agent, memory of its own (RssAnon)',
    ours: kilobytes('RssAnon') / 1024,
    bare: null,
    unit: 'MB',
    better: 'lower',
    aim: 'about 1 MB',
  };
}

interface Measured {
  readonly wallMs: number;
  /** Processor time of this process alone, children not counted. */
  readonly ownMs: number;
}

async function measure(work: () => Promise<void>): Promise<Measured> {
  const start = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { wallMs: performance.now() - start, ownMs: (user + system) / 1000 };
}

function runBare(argv: readonly [string, ...string[]], env: NodeJS.ProcessEnv, cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0], argv.slice(1), { env, cwd, stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`the no-op agent exited ${code}`))));
  });
}
