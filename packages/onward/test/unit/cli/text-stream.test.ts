import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../../src/agent/index.ts';
import { createTextStream } from '../../../src/cli/sessions/text-stream.ts';
import { createRedactor } from '../../../src/kernel/redact.ts';
import { createFakeIo } from './support/fake-io.ts';

const SECRET = 'hunter2-hunter2';
const FORM = 'sk-ant-abcdefghijklmnop1234';

function streamed(
  pieces: readonly string[],
  close: boolean,
): { readonly all: string; readonly states: readonly string[] } {
  const io = { ...createFakeIo(), env: { MY_TOKEN: SECRET } };
  const stream = createTextStream(io);
  let n = 0;
  for (const text of pieces)
    stream.delta({ type: 'live.delta', turn: 1, step: 1, block: 0, kind: 'text', n: ++n, text });
  if (close) stream.closed(closed(pieces.join('')));
  stream.rest();
  const states = io.outLines.map((_, index) => io.outLines.slice(0, index + 1).join(''));
  return { all: io.outLines.join(''), states };
}

function closed(text: string): Extract<SessionEvent, { type: 'block.closed' }> {
  const data = { turn: 1, step: 1, block: 0, part: { type: 'text', text } };
  return { type: 'block.closed', v: 1, data, stream: 's', position: 1, at: 0, epoch: 1 } as never;
}

const word = fc.constantFrom('a', 'word', SECRET, FORM, 'password', '=', ':', '\n', '\n\n', ' ', 'é', '. ');
const pieces = fc
  .array(word, { maxLength: 40 })
  .map((words) => words.join(''))
  .chain((text) => fc.array(fc.nat({ max: text.length }), { maxLength: 12 }).map((cuts) => cut(text, cuts)));

function cut(text: string, cuts: readonly number[]): readonly string[] {
  const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}

describe('text on a terminal', () => {
  test('never shows a secret or the beginning of one, at no moment, however its pieces are cut', () => {
    fc.assert(
      fc.property(pieces, fc.boolean(), (parts, close) => {
        const { all, states } = streamed(parts, close);
        // What the redactor leaves in the whole (a form inside of a longer word) is not for the stream to find.
        const whole = createRedactor({ MY_TOKEN: SECRET }).text(parts.join(''));
        const secrets = [SECRET.slice(0, 9), FORM.slice(0, 12)].filter((secret) => !whole.includes(secret));
        const shown = [...states, all].filter((state) => secrets.some((secret) => state.includes(secret)));
        expect(shown).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('shows no value whose name stands a paragraph before it', () => {
    const { all, states } = streamed([`password=\n\na${FORM}`, ' and on'], true);
    expect([...states, all].filter((state) => state.includes(FORM))).toEqual([]);
  });

  test('is all of the text, once, when nothing of it is secret', () => {
    const plain = fc.array(fc.constantFrom('a', 'word', '\n', '\n\n', ' ', '. ', 'é'), { maxLength: 60 });
    fc.assert(
      fc.property(plain, fc.array(fc.nat({ max: 200 }), { maxLength: 12 }), fc.boolean(), (words, cuts, close) => {
        const text = words.join('');
        const inRange = cuts.map((at) => Math.min(at, text.length));
        const { all } = streamed(cut(text, inRange), close);
        expect(all).toBe(text === '' || text.endsWith('\n') ? text : `${text}\n`);
      }),
    );
  });

  test('that came only in part is completed when its block closes', () => {
    const io = createFakeIo();
    const stream = createTextStream(io);
    stream.delta({ type: 'live.delta', turn: 1, step: 1, block: 0, kind: 'text', n: 1, text: 'One tw' });
    stream.closed(closed('One two three.'));
    expect(io.outLines.join('')).toBe('One two three.\n');
    expect([stream.rest(), stream.rest()]).toEqual([true, false]);
  });
});
