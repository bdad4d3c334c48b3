import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readProcess, variableReader } from '../../../src/processes/process-table.ts';
import { readProcFile } from '../../../src/processes/proc-file.ts';
import { makeFolder, plainEnv, startForeign, until } from './support.ts';

test('a file is read whole, however it compares to the buffer, and a missing one is nothing', async () => {
  const path = join(await makeFolder(), 'file');
  for (const size of [0, 1, 65_535, 65_536, 65_537, 200_000]) {
    const text = 'ab\u00e9'.repeat(Math.ceil(size / 3)).slice(0, size);
    await writeFile(path, text, 'latin1');
    expect(readProcFile(path)).toBe(text);
  }
  expect(readProcFile(`${path}-missing`)).toBeUndefined();
  expect(readProcFile('/')).toBeUndefined();
});

test('a variable is found behind an environment of 200 kB', async () => {
  const padding = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`PADDING_${n}`, 'x'.repeat(10_000)]));
  const child = startForeign('sleep', ['100'], { ...padding, ...plainEnv, LAST: 'here' });
  const row = await until('it runs', () => {
    const found = readProcess(child.pid ?? 0);
    return found?.name === 'sleep' ? found : undefined;
  });
  expect(variableReader('LAST')(row)).toEqual({ kind: 'value', value: 'here' });
});
