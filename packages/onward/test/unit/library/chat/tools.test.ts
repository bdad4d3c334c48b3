import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { identify } from '../../../../src/processes/index.ts';
import { until } from '../../processes/support.ts';
import { makePlace, openTools, runTool } from './support.ts';

async function placeWith(files: Readonly<Record<string, string>>): Promise<string> {
  const { work } = makePlace();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text);
  await openTools(work);
  return work;
}

describe('what a chat may do without being asked', () => {
  test.each([
    ['none', ['write', 'edit', 'shell']],
    ['edits', ['shell']],
    ['all', []],
  ] as const)('with --approve %s these are asked about: %j', async (approve, asked) => {
    const tools = await openTools(makePlace().work, approve);
    expect(tools.filter(({ approval }) => approval !== undefined).map(({ name }) => name)).toEqual(asked);
  });

  test('reading and searching have no effect and run side by side; whatever changes something is on record first', async () => {
    const tools = await openTools(makePlace().work);
    expect(tools.map(({ name, effect, parallel }) => [name, effect, parallel === true])).toEqual([
      ['read', 'none', true],
      ['search', 'none', true],
      ['write', 'untracked', false],
      ['edit', 'untracked', false],
      ['shell', 'untracked', false],
    ]);
  });
});

describe('read', () => {
  test('gives the lines that were asked for, and how many there are', async () => {
    const work = await placeWith({ a: 'one\ntwo\nthree' });
    expect(await runTool(work, 'read', { path: 'a' })).toMatchObject({ lines: 3, text: 'one\ntwo\nthree' });
    expect(await runTool(work, 'read', { path: 'a', from: 2, lines: 1 })).toMatchObject({ from: 2, text: 'two' });
  });

  test('lists a directory', async () => {
    const work = await placeWith({ a: '', b: '' });
    mkdirSync(join(work, 'c'));
    expect(await runTool(work, 'read', { path: '.' })).toEqual({ path: '.', names: ['a', 'b', 'c/'] });
  });

  test('keeps the beginning and the end of a long text', async () => {
    const work = await placeWith({ a: `begin${'x'.repeat(200_000)}end` });
    const { text } = (await runTool(work, 'read', { path: 'a' })) as { text: string };
    expect(text.length).toBeLessThan(66_000);
    expect(text).toMatch(/^begin/);
    expect(text).toMatch(/end$/);
    expect(text).toContain('[... 134472 characters left out ...]');
  });

  test('refuses what is no text: a binary, a pipe that nobody writes to, and what is missing', async () => {
    const work = await placeWith({ a: 'a\0b' });
    execFileSync('mkfifo', [join(work, 'pipe')]);
    await expect(runTool(work, 'read', { path: 'a' })).rejects.toMatchObject({ code: 'chat/not-text' });
    await expect(runTool(work, 'read', { path: 'pipe' })).rejects.toMatchObject({ code: 'chat/not-a-file' });
    await expect(runTool(work, 'read', { path: 'b' })).rejects.toMatchObject({ code: 'chat/no-file' });
  });
});

describe('write and edit', () => {
  test('write makes missing folders, keeps the mode of a file, and leaves nothing beside it', async () => {
    const work = await placeWith({ 'run.sh': 'old' });
    chmodSync(join(work, 'run.sh'), 0o750);
    await runTool(work, 'write', { path: 'run.sh', text: 'new' });
    await runTool(work, 'write', { path: 'deep/er/a', text: 'text' });
    expect(readFileSync(join(work, 'run.sh'), 'utf8')).toBe('new');
    expect(statSync(join(work, 'run.sh')).mode & 0o777).toBe(0o750);
    expect(readFileSync(join(work, 'deep/er/a'), 'utf8')).toBe('text');
    expect(readdirSync(work).toSorted()).toEqual(['deep', 'run.sh']);
  });

  test('edit changes the only place, and nothing when there is none or more than one', async () => {
    const work = await placeWith({ a: 'x = 1\ny = 1\nz = $&\n' });
    await runTool(work, 'edit', { path: 'a', old: 'y = 1', new: 'y = $& 2' });
    expect(readFileSync(join(work, 'a'), 'utf8')).toBe('x = 1\ny = $& 2\nz = $&\n');
    const before = readFileSync(join(work, 'a'), 'utf8');
    await expect(runTool(work, 'edit', { path: 'a', old: ' = ', new: '' })).rejects.toThrow(/3 times/);
    await expect(runTool(work, 'edit', { path: 'a', old: 'nowhere', new: '' })).rejects.toThrow(/not in it/);
    expect(readFileSync(join(work, 'a'), 'utf8')).toBe(before);
    expect(await runTool(work, 'edit', { path: 'a', old: ' = ', new: ':', all: true })).toMatchObject({ places: 3 });
  });
});

describe('search', () => {
  test('finds lines with their place, and leaves out .git, node_modules, binaries and links that lead out', async () => {
    const { work, outside } = makePlace();
    await openTools(work);
    for (const folder of ['src', '.git', 'node_modules']) {
      mkdirSync(join(work, folder));
      writeFileSync(join(work, folder, 'a.ts'), 'const needle = 1;\n');
    }
    writeFileSync(join(work, 'src', 'b.md'), 'a needle\n');
    writeFileSync(join(work, 'src', 'c.bin'), 'needle\0\n');
    writeFileSync(join(outside, 'secret'), 'needle\n');
    symlinkSync(outside, join(work, 'src', 'out'));
    const { lines } = (await runTool(work, 'search', { pattern: 'need(le|ed)' })) as { lines: string };
    expect(lines.trim().split('\n').toSorted()).toEqual(['./src/a.ts:1:const needle = 1;', './src/b.md:1:a needle']);
    expect(await runTool(work, 'search', { pattern: 'NEEDLE', ignoreCase: true, files: '*.md' })).toEqual({
      lines: './src/b.md:1:a needle\n',
    });
    expect(await runTool(work, 'search', { pattern: '-e' })).toEqual({ lines: '' });
    await expect(runTool(work, 'search', { pattern: '(' })).rejects.toMatchObject({ code: 'chat/no-search' });
    await expect(runTool(work, 'search', { pattern: 'x', path: 'src/out' })).rejects.toThrow(/not inside/);
  });
});

describe('shell', () => {
  test('gives exit code and output, in the working directory, without any key', async () => {
    const work = await placeWith({});
    const command = 'pwd; echo bad >&2; exit 3';
    expect(await runTool(work, 'shell', { command })).toEqual({ exitCode: 3, stdout: `${work}\n`, stderr: 'bad\n' });
  });

  test('keeps 64 KiB of a long output, its beginning and its end', async () => {
    const work = await placeWith({});
    const command = 'echo begin; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo end';
    const { stdout } = (await runTool(work, 'shell', { command })) as { stdout: string };
    expect(stdout.length).toBeLessThan(66_000);
    expect(stdout).toMatch(/^begin\n/);
    expect(stdout).toMatch(/\nend\n$/);
    expect(stdout).toContain(' left out ');
  });

  test('is killed with its group when the turn is cancelled', async () => {
    const work = await placeWith({});
    const stop = new AbortController();
    const running = runTool(work, 'shell', { command: 'sleep 100 & echo $! > pid; wait' }, stop.signal);
    const ended = running.catch((error: unknown) => error);
    const pid = await until('it runs', () => {
      try {
        return Number(readFileSync(join(work, 'pid'), 'utf8'));
      } catch {
        return undefined;
      }
    });
    expect(identify(pid)).toBeDefined();
    stop.abort();
    expect(await ended).toMatchObject({ code: 'chat/ended' });
    await until('it is gone', () => identify(pid) === undefined);
  });

  test('says that it was ended, with what it had printed, when its time is over', async () => {
    const work = await placeWith({});
    const got = await runTool(work, 'shell', { command: 'echo early; exec sleep 100', seconds: 1 });
    expect(got).toMatchObject({
      exitCode: null,
      stdout: 'early\n',
      ended: expect.stringContaining('after 1 s') as string,
    });
  });
});
