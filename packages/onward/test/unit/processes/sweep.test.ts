import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  findProcesses,
  identify,
  isAlive,
  ownIdentity,
  type ProcessIdentity,
  sweep,
  sweepAgent,
  systemClock,
} from '../../../src/processes/index.ts';
import { sweepBy } from '../../../src/processes/sweep.ts';
import { readProcess } from '../../../src/processes/process-table.ts';
import { countMarked, makeMarker, plainEnv, readText, startForeign, startShell, until } from './support.ts';

const clock = systemClock;

/** How many processes of the attempt run this program. */
function runs(marker: string, name: string): number {
  return findProcesses({ marker }).filter((row) => row.name === name).length;
}

async function pidFrom(path: string): Promise<number> {
  return until('a pid was printed', async () => Number((await readText(path)).trim()) || undefined);
}

/** Clock ticks since boot, as the start of a process is told. */
function uptimeTicks(): number {
  return Math.round(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 100);
}

/** Looks that find these things, one after the other, then nothing; time passes only by waiting. */
function scripted(looks: readonly { ours?: readonly ProcessIdentity[]; executing?: boolean }[]) {
  let now = 0;
  let at = 0;
  const fake = { now: () => now, monotonic: () => now, sleep: async (ms: number) => void (now += ms) };
  const see = () => {
    const { ours = [], executing = false } = looks[at++] ?? {};
    return { ours: ours.map((found) => ({ ...found, name: 'sleep' })), executing };
  };
  return { see, fake, looked: () => at };
}

describe('a sweep', () => {
  test('R120 ends the real agent below a wrapper that is already dead', async () => {
    const marker = makeMarker();
    const agent = await startShell('sh -c "sleep 100 & wait" & echo $!; wait', { marker });
    const real = await pidFrom(agent.stdoutPath);
    process.kill(agent.identity.pid, 'SIGKILL');
    await agent.exited;
    expect(identify(real)).toBeDefined();
    const result = await sweep({ marker, clock });
    expect(result.gone).toBe(true);
    expect(identify(real)).toBeUndefined();
    expect(countMarked(marker)).toBe(0);
  });

  test('R121 ends tools in a session of their own, adopted by init, and those that ignore SIGTERM', async () => {
    const marker = makeMarker();
    const script = '(setsid sh -c "trap \\"\\" TERM; sleep 100" &); (trap "" TERM INT; sleep 100) & echo ready';
    const agent = await startShell(script, { marker });
    await agent.exited;
    await until('the tools are there', () => runs(marker, 'sleep') === 2);
    const result = await sweep({ marker, clock });
    expect(result).toMatchObject({ gone: true });
    expect(result.killed.map((process) => process.name)).toContain('sleep');
    expect(countMarked(marker)).toBe(0);
  });

  test('R122 ends a command that outlived the tool call it belonged to, and names it', async () => {
    const marker = makeMarker();
    const agent = await startShell('sleep 100 & echo "timed out, now in the background"', { marker });
    await agent.exited;
    await until('the command runs', () => runs(marker, 'sleep') === 1);
    expect(await sweep({ marker, clock })).toMatchObject({ gone: true, killed: [{ name: 'sleep' }] });
  });

  test('with nothing to do is quick and kills nothing', async () => {
    expect(await sweep({ marker: makeMarker(), clock })).toEqual({ gone: true, killed: [] });
  });

  test('leaves what carries a longer marker, another one, or the text elsewhere in its environment', async () => {
    const marker = makeMarker();
    const others = [
      startForeign('sleep', ['100'], { ...plainEnv, ONWARD_ATTEMPT: `${marker}0` }),
      startForeign('sleep', ['100'], { ...plainEnv, OTHER_ONWARD_ATTEMPT: marker }),
      startForeign('sleep', ['100'], { ...plainEnv, NOTE: `ONWARD_ATTEMPT=${marker}` }),
    ];
    await sweep({ marker, clock });
    for (const child of others) expect(child.exitCode ?? child.signalCode).toBeNull();
  });

  test('never takes the process that sweeps, nor its other children, though it is marked or below a marked one', async () => {
    const marker = makeMarker();
    const sibling = startForeign('sleep', ['100']);
    const found = findProcesses({ marker, seen: [ownIdentity()] });
    expect(found).toEqual([]);
    expect(sibling.signalCode).toBeNull();
  });

  test('takes what cleared its environment when it is below a marked one, seen before, or in the group', async () => {
    const marker = makeMarker();
    const agent = await startShell('env -i sleep 100 & echo $!; wait', { marker });
    const cleared = await pidFrom(agent.stdoutPath);
    await until('it runs the new program', () => runs(marker, 'sleep') === 1);
    const seen = findProcesses({ marker });
    expect(new Set(seen.map((row) => row.pid))).toEqual(new Set([agent.identity.pid, cleared]));
    process.kill(agent.identity.pid, 'SIGKILL');
    await agent.exited;
    expect(findProcesses({ marker })).toEqual([]);
    expect(findProcesses({ marker, group: agent.identity.pid })).toHaveLength(1);
    expect(findProcesses({ marker, seen: seen.map((row) => ({ ...row, startedAt: 'another/start/1' })) })).toEqual([]);
    const result = await sweep({ marker, seen, clock });
    expect(result.killed.map((row) => row.pid)).toEqual([cleared]);
    expect(identify(cleared)).toBeUndefined();
  });

  test('leaves a nested attempt below it, and its guard, to their own host', async () => {
    const marker = makeMarker();
    const inner = makeMarker();
    const script = `ONWARD_ATTEMPT=${inner} sleep 100 & echo $!; ONWARD_ATTEMPT=guard sleep 100 & echo $!; wait`;
    const agent = await startShell(script, { marker });
    const nested = await until('both run', async () => {
      const pids = (await readText(agent.stdoutPath)).trim().split('\n').map(Number);
      return pids.length === 2 && pids.every((pid) => readProcess(pid)?.name === 'sleep') ? pids : undefined;
    });
    try {
      const result = await sweep({ marker, clock });
      expect(result).toMatchObject({ gone: true, killed: [{ pid: agent.identity.pid }] });
      for (const pid of nested) expect(identify(pid)).toBeDefined();
    } finally {
      for (const pid of nested) process.kill(pid, 'SIGKILL');
    }
  });

  test('a daemon that clears its environment, leaves the group and loses its parent escapes (documented)', async () => {
    const marker = makeMarker();
    const agent = await startShell('(env -i setsid sh -c "echo \\$\\$; exec sleep 100" &)', { marker });
    const daemon = await pidFrom(agent.stdoutPath);
    await agent.exited;
    const result = await sweep({ marker, group: agent.identity.pid, seen: [agent.identity], clock });
    expect(result.gone).toBe(true);
    expect(identify(daemon)).toBeDefined();
    process.kill(daemon, 'SIGKILL');
  });

  test('gives up at its bound and names what is left', async () => {
    const marker = makeMarker();
    const agent = await startShell('exec sleep 100', { marker });
    const kill = process.kill.bind(process);
    process.kill = () => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    };
    try {
      let now = 0;
      const fake = { now: () => now, monotonic: () => now, sleep: async (ms: number) => void (now += ms) };
      const result = await sweep({ marker, clock: fake, boundMs: 1_000 });
      expect(result).toMatchObject({ gone: false, killed: [], left: [{ pid: agent.identity.pid }] });
      expect(now).toBeGreaterThanOrEqual(1_000);
      expect(await sweep({ marker, clock: fake, signal: AbortSignal.abort() })).toMatchObject({ gone: false });
    } finally {
      process.kill = kill;
    }
    expect(isAlive(agent.identity)).toBe(true);
  });

  test('one look that finds nothing is not enough: what was just forking is found by the next', async () => {
    const marker = makeMarker();
    const agent = await startShell('exec sleep 100', { marker });
    const { see, fake, looked } = scripted([{}, { ours: [agent.identity] }]);
    expect(await sweepBy(see, { marker, clock: fake })).toMatchObject({ gone: true, killed: [agent.identity] });
    expect(looked()).toBe(4);
    expect(await agent.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  test('a look at a process that is executing a new program does not count, but not for ever', async () => {
    const marker = makeMarker();
    const agent = await startShell('exec sleep 100', { marker });
    const executing = Array.from({ length: 50 }, () => ({ executing: true }));
    const { see, fake } = scripted([...executing, { ours: [agent.identity] }]);
    expect(await sweepBy(see, { marker, clock: fake })).toMatchObject({ gone: true, killed: [agent.identity] });
    const endless = scripted(Array.from({ length: 10_000 }, () => ({ executing: true })));
    expect(await sweepBy(endless.see, { marker, clock: endless.fake })).toEqual({ gone: true, killed: [] });
    expect(endless.fake.monotonic()).toBeGreaterThanOrEqual(2_000);
    expect(endless.fake.monotonic()).toBeLessThan(3_000);
  });

  test('of a started agent takes what began with it or later; an older process that took on the marker is left', async () => {
    const marker = makeMarker();
    const older = spawn('sh', ['-c', `read -r _; ONWARD_ATTEMPT=${marker} exec sleep 100`], {
      env: plainEnv,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const start = readProcess(older.pid ?? 0);
    await until('the next tick has begun', () => uptimeTicks() > (start?.ticks ?? Infinity));
    const agent = await startShell('(setsid sleep 100 &); env -i sleep 100 & exec sleep 100', { marker });
    await until('all of it runs', () => runs(marker, 'sleep') === 3);
    older.stdin.end('go\n');
    await until('the older one took on the marker', () => runs(marker, 'sleep') === 4);
    const { identity } = agent;
    const young = findProcesses({ marker, first: identity }).map((row) => row.pid);
    expect(young).toContain(identity.pid);
    expect(young).not.toContain(older.pid);
    for (const startedAt of ['ended', `other-boot/1/${start?.ticks}`])
      expect(findProcesses({ marker, first: { pid: identity.pid, startedAt } })).toHaveLength(4);
    const result = await sweepAgent({ identity, marker, clock });
    expect(result).toMatchObject({ gone: true });
    expect(result.killed).toHaveLength(3);
    expect(findProcesses({ marker })).toMatchObject([{ pid: older.pid }]);
  });

  test('R119 the strays of a host that is gone are found by marker, and by pid with start', async () => {
    const marker = makeMarker();
    const agent = await startShell('exec sleep 100', { marker });
    expect(findProcesses({ marker }).map(({ pid, startedAt }) => ({ pid, startedAt }))).toEqual([agent.identity]);
  });
});
