import { readFileSync } from 'node:fs';
import type { Temperament } from '../../../src/lab/index.ts';
import type { AgentName } from './agents.ts';

/** What one run of one cell came to. */
export interface Row {
  readonly cell: string;
  readonly agent: AgentName;
  readonly temperament: Temperament;
  readonly exit: number | null;
  readonly attempts: number;
  readonly requests: number;
  /** Requests that the agent repeated by itself, as its events tell. */
  readonly retried: number;
  /** How often each effect happened, in the order of the task's steps. */
  readonly effects: readonly number[];
}

/** The rows of a file, as a table in Markdown: one line for each cell and agent. */
export function readTable(file: string): string {
  const rows = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
    .toSorted((a, b) => (a.cell < b.cell ? -1 : Number(a.cell > b.cell)));
  const keys = [...new Set(rows.flatMap(({ agent, cell }) => [`${agent}\n${cell}`]))].toSorted();
  const lines = keys.map((key) => lineOf(rows.filter((row) => `${row.agent}\n${row.cell}` === key)));
  return [
    '| agent | cell | exit | attempts | requests (of these repeated by the agent) | effects: naive | reader | checker |',
    '|---|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

function lineOf(rows: readonly Row[]): string {
  const [first] = rows;
  const each = (show: (row: Row) => string): string => [...new Set(rows.map(show))].join(', ');
  const effects = (['naive', 'reader', 'checker'] as const).map((name) => {
    const row = rows.find(({ temperament }) => temperament === name);
    return row === undefined ? '' : row.effects.join(' + ');
  });
  const columns = [
    first?.agent ?? '',
    first?.cell ?? '',
    each(({ exit }) => String(exit)),
    each(({ attempts }) => String(attempts)),
    each(({ requests, retried }) => (retried === 0 ? String(requests) : `${requests} (${retried})`)),
    ...effects,
  ];
  return `| ${columns.join(' | ')} |`;
}
