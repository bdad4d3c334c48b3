import { execFileSync } from 'node:child_process';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ownIdentity, tryLockSession, type SessionLock } from '../../../src/processes/index.ts';
import { makeFolder } from './support.ts';

async function take(folder: string, sessionId: string, cli = 'claude'): Promise<SessionLock> {
  const result = await tryLockSession({ folder, cli, sessionId });
  if (result.kind !== 'locked') throw new Error('held');
  return result.lock;
}

/** Another process tries the same file. */
function tryElsewhere(path: string): string {
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    try { new DatabaseSync(process.argv[1], { timeout: 0 }).exec('BEGIN EXCLUSIVE'); console.log('locked'); }
    catch (error) { console.log(error.errcode === 5 ? 'held' : String(error)); }`;
  return execFileSync(process.execPath, ['-e', program, path], { encoding: 'utf8' }).trim();
}

describe('R73 R75 the lock of one session', () => {
  test('is refused to a second asker, naming the holder, until it is released', async () => {
    const folder = await makeFolder();
    const lock = await take(folder, 's-1');
    expect(await tryLockSession({ folder, cli: 'claude', sessionId: 's-1' })).toEqual({
      kind: 'held',
      by: ownIdentity(),
    });
    lock.release();
    lock.release();
    (await take(folder, 's-1')).release();
  });

  test('is refused to another process, also after this one asked for it again', async () => {
    const folder = await makeFolder();
    const lock = await take(folder, 's-1');
    const name = (await readdir(folder)).find((file) => file.endsWith('.lock')) ?? '';
    expect(tryElsewhere(join(folder, name))).toBe('held');
    // A second open and close of the file in this process must not drop the lock that it holds.
    await tryLockSession({ folder, cli: 'claude', sessionId: 's-1' });
    expect(tryElsewhere(join(folder, name))).toBe('held');
    lock.release();
    expect(tryElsewhere(join(folder, name))).toBe('locked');
  });

  test('is another one for another CLI and another session', async () => {
    const folder = await makeFolder();
    const locks = [await take(folder, 'a'), await take(folder, 'b'), await take(folder, 'a', 'codex')];
    expect((await readdir(folder)).filter((file) => file.endsWith('.lock'))).toHaveLength(3);
    for (const lock of locks) lock.release();
  });

  test('any id, also one that looks like a path, becomes a hashed private file', async () => {
    const folder = await makeFolder();
    const lock = await take(folder, '../../etc/passwd\n');
    const files = await readdir(folder);
    expect(files.toSorted().map((file) => file.replace(/^[0-9a-f]{40}/, 'hash'))).toEqual(['hash.lock', 'hash.owner']);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    lock.release();
  });

  test('a holder that is dead is not named', async () => {
    const folder = await makeFolder();
    const lock = await take(folder, 's');
    const owner = (await readdir(folder)).find((file) => file.endsWith('.owner')) ?? '';
    await writeFile(join(folder, owner), JSON.stringify({ pid: process.pid, startedAt: 'long/ago/1' }));
    expect(await tryLockSession({ folder, cli: 'claude', sessionId: 's' })).toEqual({ kind: 'held', by: undefined });
    await writeFile(join(folder, owner), 'torn');
    expect(await tryLockSession({ folder, cli: 'claude', sessionId: 's' })).toEqual({ kind: 'held', by: undefined });
    lock.release();
  });

  test('a lock file that is something else is an error that names it', async () => {
    const folder = await makeFolder();
    (await take(folder, 's')).release();
    const name = (await readdir(folder)).find((file) => file.endsWith('.lock')) ?? '';
    await writeFile(join(folder, name), 'not a database, '.repeat(100));
    await expect(take(folder, 's')).rejects.toMatchObject({ code: 'processes/lock-broken', place: join(folder, name) });
  });
});
