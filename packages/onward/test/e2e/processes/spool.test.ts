import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../unit/processes/support.ts';
import { startProgram } from './support.ts';

test('100,000 lines of 300 bytes with a slow reader are all read, in bounded memory', async () => {
  const path = join(await makeFolder(), 'stdout');
  await writeFile(path, `${JSON.stringify({ text: 'x'.repeat(289) })}\n`.repeat(100_000));
  const program = startProgram('slow-reader', [path, 'slow', 'own']);
  const figures = JSON.parse((await program.nextLine()) ?? '') as Record<string, number>;
  console.log(`spool: ${JSON.stringify(figures)}`);
  expect(figures['lines']).toBe(100_000);
  // Node that runs TypeScript sources needs some 85 MB by itself, the built package 53 MB.
  expect((figures['peakMb'] ?? 0) - (figures['baseMb'] ?? 0)).toBeLessThan(40);
});
