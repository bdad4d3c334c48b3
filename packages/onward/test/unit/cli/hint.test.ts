import { expect, test } from 'vitest';
import { hintFor } from '../../../src/cli/hint.ts';

test.each([
  [['run', '--', 'claude', '-p', 'x'], 'onward resume 4cc2'],
  [['run', '--journal', '/a/j.db', '--', 'claude'], 'onward resume 4cc2 --journal /a/j.db'],
  [['run', '--journal=/a/j.db', '--', 'claude'], 'onward resume 4cc2 --journal /a/j.db'],
  [['run', '--journal', "/a b/it's.db", '--', 'claude'], `onward resume 4cc2 --journal '/a b/it'\\''s.db'`],
  [['run', '--', 'claude', '--journal', 'not-ours'], 'onward resume 4cc2'],
])('R23 a line to paste after %j finds the same journal', (argv, line) => {
  expect(hintFor(argv)('resume 4cc2')).toBe(line);
});
