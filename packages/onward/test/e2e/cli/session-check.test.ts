import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { conversation, write } from '../../unit/session-check/support/conversation.ts';
import { Place } from './support/place.ts';

const healthy = write(
  'claude',
  conversation(3, () => 3),
);
/** Killed while three calls ran. */
const interrupted = `${healthy
  .split('\n')
  .slice(
    0,
    healthy.split('\n').findIndex((line) => line.includes('tool_result') && line.includes('call_1_0')),
  )
  .join('\n')}\n`;

function placeWith(content: string): { readonly place: Place; readonly file: string } {
  const place = new Place();
  const file = join(place.cwd, 'session.jsonl');
  writeFileSync(file, content);
  return { place, file };
}

describe('onward session check', () => {
  test('says that a healthy session is, with status 0, and writes nothing', async () => {
    const { place, file } = placeWith(healthy);
    const { code, stdout, stderr } = await place.onward(['session', 'check', 'session.jsonl', '--repair']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe('session.jsonl: a session of Claude Code, 37 lines\nNothing in it would be refused.\n');
    expect(readdirSync(place.cwd)).toEqual([basename(file)]);
  });

  test('R60 names each of three interrupted calls with status 1, and repairs them in a copy beside the backup', async () => {
    const { place, file } = placeWith(interrupted);
    const found = await place.onward(['session', 'check', 'session.jsonl']);
    expect(found.code).toBe(1);
    for (const id of ['call_1_0', 'call_1_1', 'call_1_2'])
      expect(found.stdout).toMatch(
        new RegExp(`line \\d+ {2}call-without-result: The call ${id} \\(Bash\\) has no result\\.\n {4}repair: adds`),
      );
    expect(found.stderr).toBe('  onward session check session.jsonl --repair   writes a repaired copy\n');

    const repaired = await place.onward(['session', 'check', 'session.jsonl', '--repair']);
    expect([repaired.code, repaired.stderr]).toEqual([0, '']);
    expect(repaired.stdout).toContain(
      `Repaired copy: ${file}.repaired.jsonl (0 lines changed or left out, 3 added; the original is as it was)`,
    );
    expect(readFileSync(file, 'utf8')).toBe(interrupted);
    expect(statSync(`${file}.repaired.jsonl`).mode & 0o777).toBe(0o600);
    expect(place.read('session.jsonl.repaired.jsonl').match(/\[interrupted\]/g)).toHaveLength(3);
    expect((await place.onward(['session', 'check', 'session.jsonl.repaired.jsonl'])).code).toBe(0);

    const again = await place.onward(['session', 'check', 'session.jsonl', '--repair']);
    expect([again.code, again.stderr.includes('There is something at this path already. [session/target at ')]).toEqual(
      [2, true],
    );
  });

  test('prints one object with --json, as the guide has it', async () => {
    const { place, file } = placeWith(interrupted);
    const [report] = await place.json(['session', 'check', file, '--repair', '-o', 'copy.jsonl']);
    const guide = readFileSync(join(import.meta.dirname, '../../../../../docs/guides/session-check.md'), 'utf8');
    const rows = guide.slice(guide.indexOf('| member')).split('\n').slice(2);
    expect(Object.keys(report as object)).toEqual(rows.flatMap((row) => /^\| `(\w+)`/.exec(row)?.[1] ?? []));
    expect(report).toMatchObject({
      file,
      format: 'claude',
      session: '01a22f0b-95d8-7180-81ac-322acd10bd26',
      clean: false,
      findings: [{ kind: 'call-without-result', id: 'call_1_0' }, { id: 'call_1_1' }, { id: 'call_1_2' }],
      repaired: { path: join(place.cwd, 'copy.jsonl'), changedLines: [], addedLines: 3, consequences: [] },
    });
  });

  test.each([
    [['session', 'check', 'none.jsonl'], 'There is no such file. [session/unreadable at '],
    [['session', 'check', '.'], 'This is a folder'],
    [['session', 'check', 'session.jsonl', '--repair', '-o', 'session.jsonl'], 'The original is never written'],
    [['session', 'check', 'session.jsonl', '-o', 'x.jsonl'], 'There is only a copy to be put somewhere with --repair.'],
    [['session', 'check'], "Missing required argument 'file'"],
    [['session'], 'Examples:'],
  ])('%j is refused with status 2', async (words, fact) => {
    const { place } = placeWith(interrupted);
    const { code, stdout, stderr } = await place.onward(words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(fact);
  });
});
