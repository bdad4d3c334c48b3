import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openWorkspace, type Workspace } from '../../../../src/library/chat/workspace.ts';
import { makePlace, openTools, runTool } from './support.ts';

/** A working directory with files, folders and every kind of link that leads out of it, or back into it. */
async function crookedPlace(): Promise<{ readonly space: Workspace; readonly work: string; readonly outside: string }> {
  const { work, outside } = makePlace();
  mkdirSync(join(work, 'in'));
  writeFileSync(join(work, 'in', 'a'), 'a');
  writeFileSync(join(outside, 'secret'), 'secret');
  symlinkSync(outside, join(work, 'out'));
  symlinkSync(join(outside, 'secret'), join(work, 'file'));
  symlinkSync(join(outside, 'not-yet'), join(work, 'dangling'));
  symlinkSync('in', join(work, 'back'));
  symlinkSync('loop', join(work, 'loop'));
  return { space: await openWorkspace(work), work, outside };
}

const refused = (): undefined => undefined;
const part = fc.constantFrom('in', 'out', 'file', 'dangling', 'back', 'loop', 'a', 'new', '.', '..', '', 'secret', '~');
const path = fc
  .tuple(fc.constantFrom('', '/', './', 'WORK/', 'OUTSIDE/', 'WORK/../outside/'), fc.array(part, { maxLength: 5 }))
  .map(([start, parts]) => start + parts.join('/'));

describe('the paths of a chat', () => {
  test('never lead out of the working directory, whatever they are made of', async () => {
    const { space, work, outside } = await crookedPlace();
    const inside = (real: string): boolean => real === work || real.startsWith(work + sep);
    await fc.assert(
      fc.asyncProperty(path, async (spelled) => {
        const asked = spelled.replace('WORK', work).replace('OUTSIDE', outside);
        const found = [await space.existing(asked).catch(refused), await space.writable(asked).catch(refused)];
        const real = found.filter((one) => one !== undefined);
        expect(
          real.filter((one) => !inside(one)),
          asked,
        ).toEqual([]);
        expect(real.length > 0 && asked.split('/').includes('..'), asked).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['../outside/secret'],
    ['in/../../outside/secret'],
    ['in/../in/a'],
    ['out/secret'],
    ['file'],
    ['..'],
    ['a\0b'],
  ])('%j is refused by name for reading', async (asked) => {
    const { space } = await crookedPlace();
    await expect(space.existing(asked)).rejects.toMatchObject({ code: 'chat/outside' });
  });

  test('a link that stays inside is followed, and an absolute path inside is as good as a relative one', async () => {
    const { space, work } = await crookedPlace();
    expect(await space.existing('back/a')).toBe(join(work, 'in', 'a'));
    expect(await space.existing(join(work, 'in/a'))).toBe(join(work, 'in', 'a'));
    expect(await space.writable('deep/er/new')).toBe(join(work, 'deep', 'er', 'new'));
  });

  test('write goes through no link that leads out, not even one whose target is not there yet', async () => {
    const { work, outside } = await crookedPlace();
    await openTools(work);
    for (const asked of ['file', 'dangling', 'out/new', 'out/deep/new', '.'])
      await expect(runTool(work, 'write', { path: asked, text: 'x' }), asked).rejects.toThrow(/not inside/);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(existsSync(join(outside, 'not-yet'))).toBe(false);
  });
});
