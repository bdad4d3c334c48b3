import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../src/kernel/json.ts';
import { of, play, say } from './support.ts';

const text = (id: string): Json => say.text('Now step one.', id);

function repeats(lines: readonly (string | Json)[]): readonly (string | undefined)[] {
  return of(play(lines), 'inner-retry').map(({ category }) => category);
}

describe('a request that the CLI repeats and says nothing of', () => {
  test('R139 is counted when a message that was cut is answered as a whole', () => {
    expect(repeats([...say.streamed('a'), text('b')])).toEqual(['stream-cut']);
  });

  test('is counted when an empty answer is followed by another', () => {
    expect(repeats([...say.streamed('a'), ...say.ended(), ...say.streamed('b'), text('b')])).toEqual(['empty-answer']);
  });

  test('is counted beside the repeats of it that are said', () => {
    const lines = [...say.streamed('a'), say.retry(1, 529, 'overloaded'), text('b')];
    expect(repeats(lines)).toEqual(['overloaded', 'stream-cut']);
  });

  test('is not counted again when what follows a repeat that was said is streamed', () => {
    const lines = [...say.streamed('a'), say.retry(1, 529, 'overloaded'), ...say.streamed('b'), text('b')];
    expect(repeats(lines)).toEqual(['overloaded']);
  });

  test('is none when the message before brought a block', () => {
    expect(repeats([...say.streamed('a'), text('a'), ...say.ended(), ...say.streamed('b'), text('b')])).toEqual([]);
    expect(repeats([...say.streamed('a'), text('a'), text('b')])).toEqual([]);
  });

  test('is found in the recording of a text that was cut', () => {
    const path = '../../../transcripts/claude/cut_text-r2-partial-once/stdout.jsonl';
    expect(repeats(readFileSync(join(import.meta.dirname, path), 'utf8').split('\n'))).toEqual(['stream-cut']);
  });
});
