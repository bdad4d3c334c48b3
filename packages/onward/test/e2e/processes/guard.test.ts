import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { identify } from '../../../src/processes/index.ts';
import {
  countMarked,
  makeFolder,
  makeMarker,
  plainEnv,
  until,
} from '../../unit/processes/support.ts';

const hostProgram = join(import.meta.dirname, 'fixtures/host.ts');

interface Host {
  readonly pid: number;
  readonly guard: number;
  readonly agent: number;
  readonly folder: string;
  readonly marker: string;
  nextLine(): Promise<string>;
  kill(): void;
}

async function startHost(script: string, ...rest: string[]): Promise<Host> {
  const folder = await makeFolder();
  const marker = makeMarker();
  const child = spawn(process.execPath, [hostProgram, folder, marker, script, ...rest], {
    env: plainEnv,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => ((await lines.next()) as { value: string }).value;
  const { guard, agent } = JSON.parse(await nextLine()) as { guard: number; agent: number };
  return { pid: child.pid ?? 0, guard, agent, folder, marker, nextLine, kill: () => void child.kill('SIGKILL') };
}

/** Kills the host with -9 and measures until nothing of the attempt lives. */
async function killAndMeasure(host: Host): Promise<number> {
  const start = performance.now();
  host.kill();
  await until('nothing of the attempt lives', () => countMarked(host.marker) === 0);
  const took = performance.now() - start;
  await until('the guard has gone', () => identify(host.guard) === undefined);
  expect(countMarked(host.marker)).toBe(0);
  return took;
}

async function residentKb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

const toolTree = '(setsid sleep 301 &); sleep 302 & (sleep 303 & sleep 304) & trap "" TERM INT; sleep 305 & wait';

describe('a host that was killed with -9', () => {
  test('R119 the guard ends the agent, its tools, and tools in a session of their own', async () => {
    const host = await startHost(toolTree);
    await until('the tree is there', () => countMarked(host.marker) >= 6);
    const rss = await residentKb(host.guard);
    const took = await killAndMeasure(host);
    console.log(`guard: all gone ${took.toFixed(0)} ms after kill -9 of the host; guard RSS ${rss} kB`);
    expect(rss).toBeLessThan(5_000);
  });
});
