import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { claudeFailures, codexFailures, type FailureName } from '../../../src/lab/fake-cli/failures.ts';
import type { Line } from './run-fake.ts';

const transcripts = join(import.meta.dirname, '../../transcripts');
const lines = (cell: string): Line[] =>
  readFileSync(join(transcripts, cell, 'stdout.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** Where each failure was recorded. Claude Code was recorded with an API key, where a 403 and a reset time do not occur. */
const claudeCells: { readonly [name in FailureName]?: string } = {
  overloaded: 'e529-r2-min',
  'server-error': 'e500-r2-min',
  unavailable: 'e503-r2-min',
  unauthorized: 'e401-r1-min',
  'bad-request': 'e400-r2-min',
  'model-not-found': 'e404-r2-min',
  throttled: 'e429-r1-min',
  'usage-limit': 'usage-r2-min',
  billing: 'quota-r2-min',
  overflow: 'ctx-r2-min',
  disconnected: 'cut_tool-r1-min',
  unreachable: 'down-r1-min',
};
const codexCells: { readonly [name in FailureName]?: string } = {
  overloaded: 'e529-r2-min',
  'server-error': 'e500-r2-min',
  unauthorized: 'e401-r1-min',
  forbidden: 'e403-r2-min',
  throttled: 'e429-r1-min',
  'usage-limit': 'usage-r2-min',
  billing: 'quota-r1-min',
  overflow: 'ctx-r2-faithful',
  disconnected: 'cut_text-fin-r2-default',
  unreachable: 'reset-r1-min',
};
/** The first words: what follows names a model, an address or a time. */
const beginning = (text: string): string => text.split(/[:.(]/)[0] ?? '';

describe('a failure of the provider', () => {
  it.each(Object.entries(claudeCells))('%s has the fields that Claude Code was recorded with (%s)', (name, cell) => {
    const played = claudeFailures[name as FailureName];
    const recorded = lines(`claude/${cell}`);
    const result = recorded.at(-1);
    expect(recorded.findLast((line) => line.type === 'assistant')).toMatchObject({ error: played.category });
    expect(result).toMatchObject({
      is_error: true,
      api_error_status: played.status,
      terminal_reason: played.terminalReason ?? 'completed',
    });
  });

  it.each(Object.entries(codexCells))('%s has the sentence that Codex was recorded with (%s)', (name, cell) => {
    const played = codexFailures[name as FailureName].message;
    const said = lines(`codex/${cell}`).map((line) => JSON.stringify(line['error'] ?? line['message'] ?? ''));
    expect(said.some((text) => text.includes(beginning(played)))).toBe(true);
  });
});
