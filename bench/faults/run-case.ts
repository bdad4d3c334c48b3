import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EndpointOptions, type KillPoint, type RequestRecord, startEndpoint } from './endpoint.ts';
import { faults } from './faults.ts';
import type { Report } from './report.ts';
import type { Orders } from './run-program.ts';
import { makeScript, type Script } from './script.ts';

/** One case of the matrix. */
export interface Case {
  readonly peer: string;
  readonly fault: string;
  readonly timeouts: boolean;
  readonly capMs: number;
}

/** Where a process is killed, from inside its tool or from outside. */
export type CrashPoint = 'in-tool' | 'tool-return' | KillPoint;

/** What was seen of a case. */
export interface Observed {
  readonly script: Script;
  /** None: it had not ended when its time was up. */
  readonly report?: Report;
  /** The lines that the tool wrote. */
  readonly effects: readonly string[];
  readonly requests: readonly RequestRecord[];
  /** How many of the requests came before the kill, where there was one. */
  readonly before?: number;
  readonly ms: number;
  /** What the process wrote to its standard error, the end of it. */
  readonly stderr: string;
}

/** Runs a program once against one fault. */
export async function runCase({ peer, fault, timeouts, capMs }: Case): Promise<Observed> {
  const rule = faults[fault];
  if (rule === undefined) throw new Error(`there is no fault ${fault}: ${Object.keys(faults).join(', ')}`);
  return inPlace(async (place) => {
    const script = makeScript();
    const endpoint = await startEndpoint({ script, fault: rule });
    const start = performance.now();
    const filler = rule.bytes === undefined ? {} : { filler: rule.bytes * 2 };
    await runOnce(place, { peer, baseUrl: endpoint.url, timeouts, resume: false, ...filler }, capMs);
    const ms = performance.now() - start;
    await endpoint.close();
    return { script, ...seen(place), requests: endpoint.requests, ms };
  });
}

/** Kills a program at a point and starts it again, to go on. */
export async function runCrash(peer: string, point: CrashPoint, cautious: boolean): Promise<Observed> {
  return inPlace(async (place) => {
    const script = makeScript();
    const start = performance.now();
    const inside = point === 'in-tool' || point === 'tool-return';
    let pid: number | undefined;
    const kill = inside ? {} : { kill: { point, now: () => void (pid !== undefined && process.kill(pid, 'SIGKILL')) } };
    const options: EndpointOptions = { script, fault: { at: 1, times: 0, group: 'none' }, cautious, ...kill };
    const endpoint = await startEndpoint(options);
    mkdirSync(join(place, 'store'));
    const orders = { peer, baseUrl: endpoint.url, timeouts: false, store: join(place, 'store') };
    await runOnce(place, { ...orders, resume: false, ...(inside ? { die: point } : {}) }, 60_000, (started) => {
      pid = started;
    });
    const before = endpoint.requests.length;
    if (existsSync(join(place, 'report.json')))
      throw new Error(
        `${peer} ended before it was killed at ${point}: ${readFileSync(join(place, 'report.json'), 'utf8')}`,
      );
    await runOnce(place, { ...orders, resume: true }, 60_000);
    await endpoint.close();
    return { script, ...seen(place), requests: endpoint.requests, before, ms: performance.now() - start };
  });
}

async function inPlace<Result>(work: (place: string) => Promise<Result>): Promise<Result> {
  const place = mkdtempSync(join(tmpdir(), 'onward-faults-'));
  try {
    return await work(place);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

const running = new Set<ChildProcess>();
// Whoever stops the benchmark in the middle leaves nothing behind.
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

type Common = Omit<Orders, 'prompt' | 'effects' | 'report'>;

/** Resolves when the process is gone: by itself, by the kill that the case asks for, or since its time was up. */
async function runOnce(
  place: string,
  common: Common,
  capMs: number,
  started?: (pid: number | undefined) => void,
): Promise<void> {
  const orders: Orders = {
    ...common,
    prompt: 'Record the two items, one after the other, then say that you are done.',
    effects: join(place, 'effects'),
    report: join(place, 'report.json'),
  };
  const stderr = openSync(join(place, 'stderr'), 'a');
  const program = join(import.meta.dirname, 'run-program.ts');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, JSON.stringify(orders)], {
    stdio: ['ignore', 'ignore', stderr],
    env: { PATH: process.env['PATH'] ?? '', HOME: place, TMPDIR: place, OPENAI_API_KEY: 'test' },
  });
  closeSync(stderr);
  running.add(child);
  started?.(child.pid);
  const timer = setTimeout(() => child.kill('SIGKILL'), capMs);
  await new Promise((resolve) => child.on('exit', resolve));
  clearTimeout(timer);
  running.delete(child);
}

function seen(place: string): Pick<Observed, 'effects' | 'stderr'> & { report?: Report } {
  const read = (name: string): string => (existsSync(join(place, name)) ? readFileSync(join(place, name), 'utf8') : '');
  const effects = read('effects')
    .split('\n')
    .filter((line) => line !== '');
  const report = read('report.json');
  return {
    effects,
    stderr: read('stderr').slice(-2000),
    ...(report === '' ? {} : { report: JSON.parse(report) as Report }),
  };
}
