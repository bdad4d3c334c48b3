import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { oneLine, onlyColors, withoutControls } from '../../../src/cli/plain-text.ts';

// oxlint-disable-next-line no-control-regex -- control characters are the subject
const control = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/;
const nasty = fc
  .array(
    fc.oneof(fc.constantFrom('\u001B[2J', '\u001B]0;title\u0007', '\u001B[31m', '\r', '\u009B5A', '\n'), fc.string()),
  )
  .map((parts) => parts.join(''));

describe('text of an agent on a terminal', () => {
  test.each([
    ['\u001B[2J\u001B[Hgone', 'gone'],
    ['a\u001B]0;title\u0007b', 'ab'],
    ['a\u001B]8;;http://x\u001B\\link', 'alink'],
    ['\u001B[31mred\u001B[0m', 'red'],
    ['progress 1%\rprogress 2%', 'progress 1%progress 2%'],
    ['one\r\ntwo\tthree', 'one\ntwo\tthree'],
    ['bell\u0007, back\b, c1\u009B5A', 'bell, back, c15A'],
  ])('%j is shown as %j', (given, shown) => {
    expect(withoutControls(given)).toBe(shown);
  });

  test('never holds a control character, whatever it is made of', () => {
    const seen = fc.check(fc.property(nasty, (text) => !control.test(withoutControls(text))));
    expect(seen.failed, String(seen.counterexample)).toBe(false);
  });

  test('fits on one line of the given length', () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 4, max: 50 }), (text, most) => {
        const line = oneLine(text, most);
        expect(line.length).toBeLessThanOrEqual(most);
        expect(line).not.toMatch(/[\n\r]/);
        expect(line.isWellFormed() || !text.isWellFormed()).toBe(true);
      }),
    );
  });

  test('says where it was cut', () => {
    expect(oneLine('one two three', 10)).toBe('one two...');
    expect(oneLine('one\n\n  two ', 10)).toBe('one two');
    expect(oneLine('1234567😀90a', 11)).toBe('1234567...');
  });
});

describe('lines that Onward coloured', () => {
  test('keep their colours and nothing else', () => {
    expect(onlyColors('\u001B[1mbold\u001B[0m \u001B[2J\u001B[5;5Hmoved')).toBe('\u001B[1mbold\u001B[0m moved');
  });
});
