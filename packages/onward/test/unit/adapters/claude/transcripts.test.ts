import { readdirSync, readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import type { Ending, ProcessEnding } from '../../../../src/supervisor/adapter.ts';
import { claudeAdapter } from '../../../../src/supervisor/adapters/claude/index.ts';
import { expectedOf, type Recorded } from './expected-class.ts';

const root = join(import.meta.dirname, '../../../transcripts/claude');
const cells = readdirSync(root).toSorted();

interface Result extends Recorded {
  readonly resume?: { readonly exit: number | null; readonly timedOut: boolean } | null;
}

function read(cell: string, file: string): string {
  const path = join(root, cell, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function play(stdout: string, process: Partial<ProcessEnding>): { ending: Ending; kinds: string[] } {
  const reader = claudeAdapter.reader();
  const kinds = stdout.split('\n').flatMap((line) => reader.line(line).map((observation) => observation.kind));
  return { ending: reader.ending({ stderr: '', session: '', mode: 'create', ...process }), kinds };
}

function outcome(ending: Ending): string {
  return ending.ok ? 'success' : classify(ending.failure).class;
}

describe('recorded runs of Claude Code', () => {
  test.each(cells)('the ending of %s is of the class that its fault calls for', (cell) => {
    const result = JSON.parse(read(cell, 'result.json')) as Result;
    const { expected, because } = expectedOf(result);
    const { ending, kinds } = play(read(cell, 'stdout.jsonl'), {
      stderr: read(cell, 'stderr.txt'),
      exit: { code: result.exit, signal: result.sig },
      // Where the tester ended a silent run, the coordinator would have.
      ...(result.timedOut ? { failure: { message: 'No sign of life.', process: 'idle-timeout' } } : {}),
    });
    expect({ is: outcome(ending), because, ending }).toMatchObject({ is: expected });
    expect(kinds).not.toContain('malformed');
  });

  const resumed = cells.filter((cell) => existsSync(join(root, cell, 'resume.stdout.jsonl')));

  test.each(resumed)('the resume after %s is a success in the same session', (cell) => {
    const result = JSON.parse(read(cell, 'result.json')) as Result;
    const sessionId = sessionOf(read(cell, 'stdout.jsonl'));
    const exit = { code: result.resume?.exit ?? null, signal: null };
    const { ending, kinds } = play(read(cell, 'resume.stdout.jsonl'), { exit, mode: 'resume', sessionId });
    // The server was well again, and each of these runs is recorded as having done the task.
    expect({ is: outcome(ending), ending }).toMatchObject({ is: 'success' });
    expect(kinds).not.toContain('malformed');
  });

  test('a second process on the same session is read like any other', () => {
    const stdout = read('resume-while-first-alive', 'concurrent.stdout.jsonl');
    expect(outcome(play(stdout, { exit: { code: 0, signal: null } }).ending)).toBe('success');
  });

  test('only one recording has no resume: its id was given beforehand and it was recorded for the id alone', () => {
    expect(cells.filter((cell) => !resumed.includes(cell))).toEqual(['presetid-e401-r1-min']);
  });
});

function sessionOf(stdout: string): string {
  return (JSON.parse(stdout.split('\n')[0] ?? '{}') as { session_id: string }).session_id;
}
