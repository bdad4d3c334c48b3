import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';
import type { Row } from './table-text.ts';

/** Adds a row to the table that is printed when every test has ended. */
export function recordRow(row: Row): void {
  appendFileSync(inject('rowsFile'), `${JSON.stringify(row)}\n`);
}
