import { chmod, chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { describe, expect, test } from 'vitest';
import { ensurePrivateDir, requirePosix } from '../../../src/processes/index.ts';
import { makeFolder } from './support.ts';

const refusal = { code: 'processes/unsafe-directory' };

describe('a private directory', () => {
  test('is made with all that is missing above it, mode 0700, and may be asked for again', async () => {
    const folder = await makeFolder();
    const path = join(folder, 'a/b/c');
    expect(await ensurePrivateDir(path)).toBe(path);
    expect(await ensurePrivateDir(path)).toBe(path);
    for (const part of ['a', 'a/b', 'a/b/c']) expect((await stat(join(folder, part))).mode & 0o777).toBe(0o700);
  });

  test('is refused when everybody, or a group that is not just its owner, may write to it or above it', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'open/inner'), { recursive: true });
    await chmod(join(folder, 'open'), 0o777);
    await expect(ensurePrivateDir(join(folder, 'open'))).rejects.toMatchObject(refusal);
    await expect(ensurePrivateDir(join(folder, 'open/inner'))).rejects.toMatchObject({ place: join(folder, 'open') });
    await chmod(join(folder, 'open'), 0o1777);
    await ensurePrivateDir(join(folder, 'open/inner'));
  });

  test('is looked at where a symbolic link leads', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'open/inner'), { recursive: true });
    await chmod(join(folder, 'open'), 0o777);
    await symlink(join(folder, 'open/inner'), join(folder, 'link'));
    await expect(ensurePrivateDir(join(folder, 'link'))).rejects.toMatchObject(refusal);
  });

  test('is refused when a file is in its way', async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, 'file'), '');
    await expect(ensurePrivateDir(join(folder, 'file'))).rejects.toMatchObject(refusal);
    await expect(ensurePrivateDir(join(folder, 'file/below'))).rejects.toMatchObject(refusal);
  });

  test.skipIf(getuid?.() !== 0)('is refused when another user owns it, or a group of others may write', async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, 'theirs/inner'), { recursive: true });
    await chown(join(folder, 'theirs'), 12_345, 12_345);
    await expect(ensurePrivateDir(join(folder, 'theirs'))).rejects.toMatchObject(refusal);
    await expect(ensurePrivateDir(join(folder, 'theirs/inner'))).rejects.toMatchObject(refusal);
    await mkdir(join(folder, 'shared'));
    await chown(join(folder, 'shared'), 0, 12_345);
    await chmod(join(folder, 'shared'), 0o770);
    await expect(ensurePrivateDir(join(folder, 'shared'))).rejects.toMatchObject(refusal);
  });
});

test('native Windows is refused with a sentence that names WSL', () => {
  expect(() => requirePosix('Running an agent', 'win32')).toThrow(
    expect.objectContaining({ code: 'processes/unsupported', next: [expect.stringContaining('WSL')] }),
  );
});
