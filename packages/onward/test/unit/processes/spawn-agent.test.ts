import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAlive, startAgent, type AgentStart, type AgentStartResult } from '../../../src/processes/index.ts';
import { readProcess } from '../../../src/processes/process-table.ts';
import { explainSpawnError } from '../../../src/processes/spawn-fault.ts';
import {
  countDescriptors,
  countMarked,
  makeFolder,
  makeMarker,
  plainEnv,
  readText,
  startShell,
  until,
} from './support.ts';

async function start(rest: Partial<AgentStart>): Promise<AgentStartResult> {
  const folder = await makeFolder();
  return startAgent({
    argv: ['true'],
    cwd: folder,
    env: plainEnv,
    marker: makeMarker(),
    spoolDir: join(folder, 'spool'),
    stdin: { kind: 'none' },
    ...rest,
  });
}

async function faultOf(rest: Partial<AgentStart>): Promise<string> {
  const result = await start(rest);
  return result.started ? 'started' : result.fault.reason;
}

describe('a started agent', () => {
  test('writes its output straight into private spool files, appending to what is there', async () => {
    const spoolDir = join(await makeFolder(), 'spool');
    const marker = makeMarker();
    for (const word of ['one', 'two']) {
      const agent = await startShell(`echo ${word}; echo $ONWARD_ATTEMPT >&2`, { spoolDir, marker });
      expect(await agent.exited).toEqual({ code: 0, signal: null });
    }
    expect(await readText(join(spoolDir, 'stdout'))).toBe('one\ntwo\n');
    expect(await readText(join(spoolDir, 'stderr'))).toBe(`${marker}\n${marker}\n`);
    expect((await stat(spoolDir)).mode & 0o777).toBe(0o700);
    for (const name of ['stdout', 'stderr']) expect((await stat(join(spoolDir, name))).mode & 0o777).toBe(0o600);
  });

  test('gets its arguments and environment untouched by any shell, and no variable of ours', async () => {
    process.env['ONWARD_TEST_LEAK'] = 'leak';
    const result = await start({ argv: ['sh', '-c', 'printf "%s\\n" "$@"; env', 'sh', '$HOME; `ls` "*"', ''] });
    if (!result.started) throw new Error(result.fault.sentence);
    await result.agent.exited;
    const lines = (await readText(result.agent.stdoutPath)).split('\n');
    expect(lines.slice(0, 2)).toEqual(['$HOME; `ls` "*"', '']);
    expect(lines.join('\n')).not.toContain('ONWARD_TEST_LEAK');
    delete process.env['ONWARD_TEST_LEAK'];
  });

  test('tells the exit code or the signal, whichever it was', async () => {
    expect(await (await startShell('exit 7')).exited).toEqual({ code: 7, signal: null });
    expect(await (await startShell('kill -9 $$')).exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('R121 exits when its process exits, though a grandchild holds stdout and stdin open', async () => {
    const marker = makeMarker();
    const agent = await startShell('sleep 100 & echo result', { marker, stdin: { kind: 'open' } });
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(await readText(agent.stdoutPath)).toBe('result\n');
    await until('the grandchild lives on', () => countMarked(marker) === 1);
  });

  test('has an identity from its first moment, and leads a session and a group of its own', async () => {
    const agent = await startShell('sleep 100');
    const { pid } = agent.identity;
    expect(readProcess(pid)).toMatchObject({ pid, session: pid, group: pid, parent: process.pid });
    expect(isAlive(agent.identity)).toBe(true);
  });
});

describe('the input of an agent', () => {
  test('stays open until it is ended, and takes lines in order', async () => {
    const agent = await startShell('while read -r line; do echo "got $line"; done; echo end', {
      stdin: { kind: 'open' },
    });
    expect(await agent.write('a')).toEqual({ written: true });
    await until('the first line arrived', async () => (await readText(agent.stdoutPath)) === 'got a\n');
    await agent.write('b');
    agent.endInput();
    agent.endInput();
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(await readText(agent.stdoutPath)).toBe('got a\ngot b\nend\n');
    expect(await agent.write('c')).toEqual({ written: false, why: 'ended' });
  });

  test('`none` is at its end at once', async () => {
    const agent = await startShell('cat; echo end');
    await agent.exited;
    expect(await readText(agent.stdoutPath)).toBe('end\n');
    expect(await agent.write('x')).toEqual({ written: false, why: 'ended' });
  });

  test('`bytes` are delivered whole and unchanged, however many', async () => {
    const bytes = Buffer.alloc(3_000_000, 'x\0é\n');
    const agent = await startShell('cat', { stdin: { kind: 'bytes', bytes } });
    await agent.exited;
    expect((await readFile(agent.stdoutPath)).equals(bytes)).toBe(true);
  });

  test('`file` is read from its beginning', async () => {
    const path = join(await makeFolder(), 'input');
    await writeFile(path, 'spooled');
    const agent = await startShell('cat', { stdin: { kind: 'file', path } });
    await agent.exited;
    expect(await readText(agent.stdoutPath)).toBe('spooled');
  });

  test('a write waits while the agent does not read, and says gone when it dies meanwhile', async () => {
    // The child that is left behind still holds the reading end.
    const agent = await startShell('exec 4<&0; sleep 100 & echo ready; wait', { stdin: { kind: 'open' } });
    await until('the child holds it', async () => (await readText(agent.stdoutPath)) === 'ready\n');
    let settled = false;
    const big = agent.write('x'.repeat(4_000_000)).finally(() => (settled = true));
    await agent.write('', AbortSignal.abort());
    expect(settled).toBe(false);
    process.kill(agent.identity.pid, 'SIGKILL');
    expect(await big).toEqual({ written: false, why: 'gone' });
    expect(await agent.write('late')).toEqual({ written: false, why: 'gone' });
  });

  test('a write into an input that the living agent closed is a value, not an EPIPE thrown somewhere', async () => {
    const agent = await startShell('exec <&-; echo closed; sleep 100', { stdin: { kind: 'open' } });
    await until('it closed its input', async () => (await readText(agent.stdoutPath)) === 'closed\n');
    expect(await agent.write('x')).toEqual({ written: false, why: 'gone' });
  });

  test('a write that waits is given up by its signal', async () => {
    const agent = await startShell('sleep 100', { stdin: { kind: 'open' } });
    const controller = new AbortController();
    const big = agent.write('x'.repeat(4_000_000), controller.signal);
    controller.abort();
    expect(await big).toEqual({ written: false, why: 'cancelled' });
  });
});

describe('an agent that cannot be started is a value with a reason', () => {
  test('no such program, by name and by path', async () => {
    expect(await faultOf({ argv: ['no-such-program-anywhere'] })).toBe('command-not-found');
    expect(await faultOf({ argv: ['./no-such-program'] })).toBe('command-not-found');
    expect(await faultOf({ argv: [''] })).toBe('invalid-argument');
    expect(await faultOf({ argv: [] })).toBe('invalid-argument');
  });

  test('a file that may not be executed, a directory', async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, 'plain'), 'text');
    await mkdir(join(folder, 'sub'));
    expect(await faultOf({ argv: [join(folder, 'plain')] })).toBe('not-executable');
    expect(await faultOf({ argv: [join(folder, 'sub')] })).toBe('not-executable');
  });

  test('a script whose interpreter is missing is not reported as a missing program', async () => {
    const script = join(await makeFolder(), 'script');
    await writeFile(script, '#!/no/such/interpreter\n');
    await chmod(script, 0o755);
    expect(await faultOf({ argv: [script] })).toBe('interpreter-missing');
  });

  test('a working directory that is missing, or a file', async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, 'file'), '');
    expect(await faultOf({ cwd: join(folder, 'none') })).toBe('cwd-missing');
    expect(await faultOf({ cwd: join(folder, 'file') })).toBe('cwd-unusable');
  });

  test('arguments over the limit of the system, a NUL in one', async () => {
    expect(await faultOf({ argv: ['true', 'x'.repeat(200_000)] })).toBe('arguments-too-long');
    expect(await faultOf({ argv: ['true', 'a\0b'] })).toBe('invalid-argument');
  });

  test('a spool that cannot be opened', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'spool/stdout'), { recursive: true, mode: 0o700 });
    expect(await faultOf({ spoolDir: join(folder, 'spool') })).toBe('spool-unusable');
  });

  test('an error nobody knows keeps its code', () => {
    const subject = { argv: ['x'], cwd: '/', env: {} };
    expect(explainSpawnError({ code: 'EWHATEVER' }, subject)).toMatchObject({ reason: 'other', code: 'EWHATEVER' });
    expect(explainSpawnError({ code: 'EMFILE' }, subject).reason).toBe('out-of-resources');
  });

  test('a marker that could match another one is refused', async () => {
    for (const marker of ['', 'short', 'has blank inside', 'new\nline-marker', '-leading-dash', 'x'.repeat(201)]) {
      await expect(start({ marker })).rejects.toMatchObject({ code: 'processes/bad-marker' });
    }
  });
});

test('fifty starts, and fifty that fail, leave no descriptor open', async () => {
  const folder = await makeFolder();
  const run = async (argv: string[]): Promise<void> => {
    const result = await start({ argv, cwd: folder, spoolDir: join(folder, 'spool'), stdin: { kind: 'open' } });
    if (result.started) await result.agent.exited;
  };
  await run(['true']);
  await run(['no-such-program-anywhere']);
  const before = await countDescriptors();
  for (let i = 0; i < 50; i++) await run(i % 2 === 0 ? ['true'] : ['sh', '-c', 'sleep 0 & exit 3']);
  for (let i = 0; i < 50; i++) await run(i % 2 === 0 ? ['no-such-program-anywhere'] : ['true', 'x'.repeat(200_000)]);
  await until('no more descriptors than before', async () => (await countDescriptors()) <= before);
  expect(await countDescriptors()).toBe(before);
});
