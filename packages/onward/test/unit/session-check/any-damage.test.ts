import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isOnwardError } from '../../../src/kernel/error.ts';
import type { SessionFormat } from '../../../src/session-check/index.ts';
import { conversation, write } from './support/conversation.ts';
import { anyDamage, spoil } from './support/damage.ts';
import { kindsOf, type Repaired, repair } from './support/files.ts';
import { type Provider, startProvider, type Wire } from './support/provider.ts';
import { brokenLinks, piecesOf } from './support/wire.ts';

let folder: string;
let provider: Provider;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'onward-session-'));
  provider = await startProvider();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await provider[Symbol.asyncDispose]();
});

const runs = Number(process.env['ONWARD_RUNS'] ?? 60);

/** Lines of the original that were not touched are in the copy, byte for byte and in order. */
function expectUntouched(damaged: Buffer, { report, text }: Repaired, format: SessionFormat): void {
  const touched = new Set(report.repaired?.changedLines);
  // Our positions move when an event is added or lost before them.
  const bare = (line: string): string => (format === 'onward' ? line.replace(/"position":\d+/, '') : line);
  const kept = damaged
    .toString()
    .split('\n')
    .flatMap((line, index) => (touched.has(index + 1) ? [] : [bare(line)]));
  const copy = text.split('\n').map(bare);
  let at = 0;
  for (const line of kept) {
    const found = copy.indexOf(line, at);
    expect(found, line).toBeGreaterThanOrEqual(0);
    at = found + 1;
  }
}

/** Whose rules a session of this kind must keep. The Messages API alone asks who begins. */
function wiresOf(format: SessionFormat, text: string): readonly Wire[] {
  if (format === 'claude') return ['messages', 'responses', 'chat'];
  if (format === 'codex') return ['responses'];
  return piecesOf(format, text)[0]?.kind === 'user' ? ['messages', 'responses', 'chat'] : ['responses', 'chat'];
}

/**
 * What is no damage: the lines of Claude Code are in the order of their links, wherever they stand, and Codex mostly has no text
 * of its encrypted reasoning.
 */
const harmless: Readonly<Record<SessionFormat, string>> = { claude: 'move-down', codex: 'empty-thinking', onward: '' };

describe.each(['claude', 'codex', 'onward'] as const)('any damage to a session of %s', (format) => {
  test('R65 is repaired: the copy is clean, a provider takes it, and what was not touched is as it was', async () => {
    const shape = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 4 });
    const damage = anyDamage.filter(({ kind }) => kind !== harmless[format]);
    const damages = fc.array(damage, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(shape, damages, async (calls, wanted) => {
        const healthy = write(
          format,
          conversation(calls.length, (turn) => calls[turn] ?? 0),
        );
        const damaged = wanted.reduce(spoil, Buffer.from(healthy));
        let repaired: Repaired;
        try {
          repaired = await repair(damaged, folder);
        } catch (error) {
          // Nothing may be left that says anything.
          if (isOnwardError(error, 'session/unknown-format') || isOnwardError(error, 'session/unreadable')) return;
          if (isOnwardError(error, 'session/not-repairable') && error.message.endsWith('nothing would be left of it'))
            return;
          throw error;
        }
        expect(kindsOf(repaired.again)).toEqual([]);
        expectUntouched(damaged, repaired, format);
        expect(format === 'claude' ? brokenLinks(repaired.text) : []).toEqual([]);
        const second = await repair(repaired.text, folder, 'again.jsonl');
        expect(second.text).toBe(repaired.text);
        const answer = await provider.ask(format, repaired.text);
        for (const wire of wiresOf(format, repaired.text)) expect(answer[wire], wire).toBe('ok');
      }),
      { numRuns: runs, interruptAfterTimeLimit: 60_000 },
    );
  }, 120_000);
});
