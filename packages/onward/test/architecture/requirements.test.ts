import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { idsIn, namedIds, requirementsOf, type Requirements } from '../../../../tools/check/requirement-ids.ts';

const TESTS = resolve(import.meta.dirname, '..');
const HINT = 'run: npm run requirements';

const recorded = JSON.parse(readFileSync(resolve(TESTS, 'requirements.json'), 'utf8')) as Requirements;

describe('the list of requirements', () => {
  const expected = requirementsOf(recorded.requiredIds, namedIds(TESTS));

  test('holds exactly the ids that test names name', () => {
    expect(recorded.tested, HINT).toEqual(expected.tested);
  });

  test('lists as pending exactly the required ids that no test names', () => {
    expect(recorded.pending, HINT).toEqual(expected.pending);
  });

  test('names each id once', () => {
    for (const ids of [recorded.requiredIds, recorded.tested, recorded.pending])
      expect(ids).toHaveLength(new Set(ids).size);
  });
});

describe('an id in the name of a test', () => {
  test.each([
    ['a plain test', `test('R01 works', () => {});`, ['R01']],
    ['two ids', `it("R01 R102 work", () => {});`, ['R01', 'R102']],
    ['an id inside the name', `it('works, see R09', () => {});`, ['R09']],
    ['a table', 'it.each([1, 2])(`R03 ${x} works`, () => {});', ['R03']],
    ['a tagged table', 'test.each`a\n${1}`("R04 $a", () => {});', ['R04']],
    ['a condition', `test.skipIf(process.platform === 'win32')('R05 works', () => {});`, ['R05']],
    [
      'a group and a test in it',
      `describe('R06 group', () => { test('A1 O12 works', () => {}); });`,
      ['R06', 'A1', 'O12'],
    ],
  ])('counts for %s', (_what, source, ids) => {
    expect(idsIn('x.test.ts', source)).toEqual(ids);
  });

  test.each([
    ['a test that is skipped', `test.skip('R01 works', () => {});`],
    ['a test that is planned', `it.todo('R01 works');`],
    ['a skipped group', `describe.skip('group', () => { test('R01 works', () => {}); });`],
    ['a comment', `// test('R01 works')`],
    ['a text elsewhere', `const row = 'R01'; run('R02');`],
    ['a longer word', `test('AR01 R1234 works', () => {});`],
  ])('does not count for %s', (_what, source) => {
    expect(idsIn('x.test.ts', source)).toEqual([]);
  });
});

describe('what the list must say', () => {
  test('a required id without a test is pending, and no other', () => {
    expect(requirementsOf(['R02', 'R01'], new Set(['R03', 'R01']))).toEqual({
      requiredIds: ['R01', 'R02'],
      tested: ['R01', 'R03'],
      pending: ['R02'],
    });
  });
});
