import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editJson, findSpan } from '../../../src/session-check/json-edit.ts';

/** A place in a value, and what is there. */
function placesIn(value: unknown, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Array.isArray(value)
    ? value.flatMap((item, index) => placesIn(item, [...path, index]))
    : Object.entries(value).flatMap(([name, item]) => placesIn(item, [...path, name]));
  return [path, ...inner];
}

function at(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce((now, name) => (now as Record<string | number, unknown>)[name], value);
}

describe('an edit of JSON', () => {
  test('finds every value of any JSON, however it is spaced', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom('', ' ', '\t'), (text, space) => {
        const value: unknown = JSON.parse(text);
        const written = JSON.stringify(value, undefined, space);
        for (const path of placesIn(value)) {
          const span = findSpan(written, path);
          expect(JSON.parse(written.slice(span?.start, span?.end))).toEqual(at(value, path));
        }
      }),
    );
  });

  test('takes any elements out of an array, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.array(fc.boolean()), fc.constantFrom('', ' '), (list, gone, space) => {
        const text = JSON.stringify({ before: 1, list, after: 2 }, undefined, space);
        const edits = list.flatMap((_, index) =>
          gone[index] === true ? [{ at: ['list', index], do: 'remove' as const }] : [],
        );
        const kept = list.filter((_, index) => gone[index] !== true);
        expect(JSON.parse(editJson(text, edits))).toEqual(
          JSON.parse(JSON.stringify({ before: 1, list: kept, after: 2 })),
        );
      }),
    );
  });

  test('leaves numbers, escapes and spaces beside it as they were written', () => {
    const text = '{ "a":1.50,"b":["\\u00e9" ,12345678901234567890 , {"c":"\\/"}],"a" : 2e1 }';
    expect(editJson(text, [{ at: ['b', 1], do: 'remove' }])).toBe(
      '{ "a":1.50,"b":["\\u00e9" ,{"c":"\\/"}],"a" : 2e1 }',
    );
    expect(editJson(text, [{ at: ['b', 2, 'c'], do: 'replace', text: 'null' }])).toBe(text.replace('"\\/"', 'null'));
    expect(editJson(text, [{ at: ['b', 2], do: 'add-after', text: '3' }])).toBe(text.replace('}]', '},3]'));
    // As for `JSON.parse`, the last of two members counts.
    expect(editJson(text, [{ at: ['a'], do: 'replace', text: '3' }])).toBe(text.replace('2e1', '3'));
  });

  test('walks nesting of any depth', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(editJson(`{"deep":${deep},"a":1}`, [{ at: ['a'], do: 'replace', text: '2' }])).toBe(
      `{"deep":${deep},"a":2}`,
    );
  });
});
