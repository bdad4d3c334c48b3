import { readdir, readFile, readlink } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { findProcesses, identify, startGuard, sweep, systemClock } from '../../../src/processes/index.ts';
import { listProcesses, readProcess } from '../../../src/processes/process-table.ts';
import {
  countDescriptors,
  countMarked,
  makeFolder,
  makeMarker,
  readText,
  startForeign,
  startShell,
  until,
} from '../../unit/processes/support.ts';
import { startProgram, type Program } from './support.ts';

interface Host {
  readonly program: Program;
  readonly guard: number;
  readonly agent: number;
  readonly folder: string;
  readonly marker: string;
}

async function startHost(script: string, ...rest: string[]): Promise<Host> {
  const folder = await makeFolder();
  const marker = makeMarker();
  const program = startProgram('host', [folder, marker, script, ...rest]);
  const { guard, agent } = JSON.parse((await program.nextLine()) ?? '') as { guard: number; agent: number };
  return { program, guard, agent, folder, marker };
}

/** Kills the host with -9 and measures until nothing of the attempt lives; then the guard goes too. */
async function killHost(host: Host): Promise<{ left: number; ms: number }> {
  const start = performance.now();
  host.program.killHard();
  await until('nothing of the attempt lives', () => countMarked(host.marker) === 0);
  const ms = Math.round(performance.now() - start);
  await until('the guard has gone', () => identify(host.guard) === undefined);
  return { left: countMarked(host.marker), ms };
}

async function residentKb(pid: number): Promise<number> {
  return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

async function openFiles(pid: number): Promise<string[]> {
  const fds = await readdir(`/proc/${pid}/fd`);
  return Promise.all(fds.map((fd) => readlink(`/proc/${pid}/fd/${fd}`)));
}

async function guardOnce(): Promise<void> {
  const result = await startGuard({ marker: makeMarker() });
  if (result.started) await result.guard.release();
}

/** In the group, in a session of its own below init, below a wrapper, ignoring signals. Seven or eight processes. */
const toolTree = '(setsid sleep 301 &); sleep 302 & (sleep 303 & sleep 304; :) & trap "" TERM INT; sleep 305 & wait';

describe('a host that was killed with -9', () => {
  test('R119 R121 the guard ends the agent, its tools, and tools in a session of their own', async () => {
    const host = await startHost(toolTree);
    await until('the tree is there', () => countMarked(host.marker) >= 7);
    const kb = await residentKb(host.guard);
    const { left, ms } = await killHost(host);
    expect(left).toBe(0);
    console.log(`guard: 0 of 7 left ${ms} ms after kill -9 of the host; guard RSS ${kb} kB`);
    expect(kb).toBeLessThan(5_000);
  });

  test('R119 three hosts one after the other leave no process and no guard', async () => {
    for (let i = 0; i < 3; i++) {
      const host = await startHost(toolTree);
      await until('the tree is there', () => countMarked(host.marker) >= 7);
      expect(await killHost(host)).toMatchObject({ left: 0 });
    }
  });

  test('also before it could tell the guard which process the agent is', async () => {
    const host = await startHost(toolTree, 'blind');
    await until('the tree is there', () => countMarked(host.marker) >= 7);
    expect(await killHost(host)).toMatchObject({ left: 0 });
  });

  test('also in the moment in which the agent starts', async () => {
    for (let i = 0; i < 10; i++) {
      const marker = makeMarker();
      const program = startProgram('sudden-host', [await makeFolder(), marker, 'sleep 300 & sleep 300']);
      const guard = Number(await program.nextLine());
      await program.exited;
      await until('the guard has gone', () => identify(guard) === undefined);
      expect(countMarked(marker)).toBe(0);
    }
  });

  test('also when its guard was killed before: a new one has taken its place, and knows the agent', async () => {
    const host = await startHost('env -i sleep 300 & echo $!; (setsid sleep 300 &); wait');
    const cleared = await until('both run', async () =>
      countMarked(host.marker) === 3 ? Number(await readText(`${host.folder}/spool/stdout`)) : undefined,
    );
    process.kill(host.guard, 'SIGKILL');
    const successor = await until('there is a new guard', () =>
      listProcesses().find((row) => row.parent === host.program.pid && ![host.guard, host.agent].includes(row.pid)),
    );
    expect(await killHost(host)).toMatchObject({ left: 0 });
    await until('the new guard has gone', () => identify(successor.pid) === undefined);
    expect(identify(cleared)).toBeUndefined();
  });

  test('also an agent that starts new tools all the time, each in a session of its own', async () => {
    const host = await startHost('while :; do setsid sleep 60 & sleep 0.002; done');
    await until('it is busy', () => countMarked(host.marker) >= 20);
    expect(await killHost(host)).toMatchObject({ left: 0 });
  });

  test('what cleared its environment but stayed in the group is ended; what left the group as well escapes', async () => {
    const script = 'env -i sleep 300 & echo $!; (env -i setsid sh -c "echo \\$\\$; exec sleep 300" &); wait';
    const host = await startHost(script);
    const pids = await until('both run', async () => {
      const found = (await readText(`${host.folder}/spool/stdout`)).trim().split('\n').map(Number);
      const [inGroup = 0, escaped = 0] = found;
      return found.length === 2 && identify(inGroup) !== undefined && identify(escaped) !== undefined
        ? found
        : undefined;
    });
    const [inGroup = 0, escaped = 0] = pids;
    expect(await killHost(host)).toMatchObject({ left: 0 });
    expect(identify(inGroup)).toBeUndefined();
    expect(identify(escaped)).toBeDefined();
    process.kill(escaped, 'SIGKILL');
  });

  test('where there is no /proc the group and what is below the agent are ended', async () => {
    const host = await startHost('setsid sleep 300 & sleep 300 & (sleep 300 & sleep 300; :) & wait', 'watch', 'ps');
    await until('the tree is there', () => countMarked(host.marker) >= 6);
    expect(await killHost(host)).toMatchObject({ left: 0 });
  });

  test('where grep knows no -z the same processes are ended, and none whose marker only begins alike', async () => {
    const host = await startHost(toolTree, 'blind', 'plain');
    await until('the tree is there', () => countMarked(host.marker) >= 7);
    const alike = startForeign('sleep', ['300'], { ONWARD_ATTEMPT: `${host.marker}1`, PATH: '/usr/bin:/bin' });
    expect(await killHost(host)).toMatchObject({ left: 0 });
    expect(alike.signalCode).toBeNull();
  });

  test('400 processes of others, and an attempt whose marker only begins alike, are left alone and cost little', async () => {
    const foreign = Array.from({ length: 400 }, () => startForeign('sleep', ['300']));
    const host = await startHost(toolTree);
    await until('the tree is there', () => countMarked(host.marker) >= 7);
    const alike = startForeign('sleep', ['300'], { ONWARD_ATTEMPT: `${host.marker}1`, PATH: '/usr/bin:/bin' });
    const { left, ms } = await killHost(host);
    expect(left).toBe(0);
    const start = performance.now();
    expect(findProcesses({ marker: host.marker })).toEqual([]);
    const look = performance.now() - start;
    console.log(`guard among 400 others: all gone after ${ms} ms; one look of the sweep ${look.toFixed(0)} ms`);
    for (const child of [...foreign, alike]) expect(child.signalCode).toBeNull();
    expect(ms).toBeLessThan(5_000);
  });
});

describe('a host that lives', () => {
  test('releases its guard, which then does nothing', async () => {
    const host = await startHost('sleep 300');
    process.kill(host.program.pid, 'SIGUSR2');
    expect(await host.program.nextLine()).toBe('released');
    expect(identify(host.guard)).toBeUndefined();
    expect(identify(host.agent)).toBeDefined();
    expect(identify(host.program.pid)).toBeDefined();
  });

  test('ends when its work has ended, also when it forgot its guard', async () => {
    const program = startProgram('finished-host', [makeMarker()]);
    expect(await program.nextLine()).toBe('guarded');
    expect(await program.nextLine()).toBeUndefined();
    expect(await program.exited).toBe(0);
  });

  test('a guard holds nothing of its host: no stream, no descriptor, no directory, no marker', async () => {
    const host = await startHost('sleep 300');
    const streams = [1, 2].map((fd) => `/proc/${host.program.pid}/fd/${fd}`);
    const ofHost = await Promise.all(streams.map((path) => readlink(path)));
    expect(ofHost[0]).toMatch(/^(pipe|socket):/);
    for (const pid of [host.guard, host.agent]) {
      const held = await openFiles(pid);
      expect(held.filter((file) => ofHost.includes(file))).toEqual([]);
    }
    // The agent has its own input and nothing else that leads to us.
    expect((await openFiles(host.agent)).filter((file) => file.startsWith('socket:'))).toHaveLength(1);
    expect(await readlink(`/proc/${host.guard}/cwd`)).toBe('/');
    expect(await readFile(`/proc/${host.guard}/environ`, 'utf8')).not.toContain(host.marker);
  });

  test('a guard does not go by SIGTERM, SIGINT or SIGHUP; that it was killed is told', async () => {
    const marker = makeMarker();
    const result = await startGuard({ marker });
    if (!result.started) throw new Error(result.fault.sentence);
    const { guard } = result;
    await until('it listens', async () =>
      (await readFile(`/proc/${guard.identity.pid}/status`, 'utf8')).includes('SigIgn:\t0000000000004003'),
    );
    // In a session of its own: neither Ctrl-C nor the end of the terminal reaches it.
    expect(readProcess(guard.identity.pid)).toMatchObject({ session: guard.identity.pid, group: guard.identity.pid });
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(guard.identity.pid, signal);
    expect(identify(guard.identity.pid)).toEqual(guard.identity);
    process.kill(guard.identity.pid, 'SIGKILL');
    // It is dead but we have not heard of it yet: a line to it is no error either.
    while (identify(guard.identity.pid) !== undefined);
    guard.watch(guard.identity);
    await guard.exited;
    guard.watch(guard.identity);
    await guard.release();
    expect(identify(guard.identity.pid)).toBeUndefined();
  });

  test('an outer sweep leaves the guard of a nested host, which then ends the nested agent', async () => {
    const outer = makeMarker();
    const inner = makeMarker();
    const folder = await makeFolder();
    const host = new URL('fixtures/host.ts', import.meta.url).pathname;
    const command = `'${process.execPath}' '${host}' '${folder}' '${inner}' '${toolTree}'`;
    await startShell(`${command} & wait`, { marker: outer });
    await until('the nested tree is there', () => countMarked(inner) >= 7);
    expect(await sweep({ marker: outer, clock: systemClock })).toMatchObject({ gone: true });
    await until('the nested agent is gone', () => countMarked(inner) === 0);
  });

  test('fifty guards leave no descriptor open', async () => {
    await guardOnce();
    const before = await countDescriptors();
    const start = performance.now();
    for (let i = 0; i < 50; i++) await guardOnce();
    console.log(`guard: started and released in ${((performance.now() - start) / 50).toFixed(1)} ms`);
    await until('no more descriptors than before', async () => (await countDescriptors()) <= before);
    expect(await countDescriptors()).toBe(before);
  });
});
