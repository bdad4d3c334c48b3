import { convertToModelMessages, type UIMessage } from 'ai';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/agent-api.ts';
import { resumeOf, toUIMessageStream, type UIWriterOptions } from '../../../src/ai-sdk/index.ts';
import { listOf, render, textOf, typesOf } from './support/render.ts';
import { completed, eventsAfter, failed, Story } from './support/story.ts';

const stream = (events: readonly AgentEvent[], options: UIWriterOptions = {}) =>
  toUIMessageStream(eventsAfter(events, options.resume?.after ?? 0), options);

const recovered = (): Story =>
  new Story()
    .prompt()
    .step()
    .live('Half of an ')
    .live('answ')
    .closeStep('failed')
    .closeTurn(failed)
    .retry()
    .step()
    .live('The whole ')
    .live('answer.')
    .block('The whole answer.')
    .answered()
    .closeStep()
    .closeTurn(completed);

const asking = (): Story => new Story().prompt().step().block('May I?').call('c1').answered().waiting('c1', 'q1');

describe('a message in the stock reader of ai', () => {
  test('text is live, and at the end there once', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .live('Hel')
      .live('lo')
      .block('Hello')
      .answered()
      .closeStep()
      .closeTurn(completed);
    const { states, last } = await render(stream(events));
    expect(states.map(textOf)).toEqual(expect.arrayContaining(['Hel', 'Hello']));
    expect(textOf(last)).toBe('Hello');
    expect(last).toMatchObject({ id: 'turn-1', role: 'assistant' });
  });

  test('a failed attempt was shown live, is taken back, and the next one takes its place', async () => {
    const { states, last, errors } = await render(stream(recovered().events));
    expect(states.map(textOf)).toEqual(expect.arrayContaining(['Half of an answ', '', 'The whole answer.']));
    expect(states.map(textOf).every((text) => !/Half.*whole/.test(text))).toBe(true);
    expect(textOf(last)).toBe('The whole answer.');
    expect(typesOf(last)).toEqual(['data-onward-retry', 'text']);
    expect(errors).toEqual([]);
  });

  test('a retry shows as one part that says how it stands, however many there are', async () => {
    const story = new Story().prompt();
    for (let n = 0; n < 3; n += 1) story.step().live('x').closeStep('failed').closeTurn(failed).retry();
    const { states, last } = await render(
      stream(story.step().block('Done.').answered().closeStep().closeTurn(completed).events),
    );
    const seen = states.flatMap(({ parts }) => parts.filter(({ type }) => type === 'data-onward-retry'));
    expect(seen).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ data: { failures: 2, state: 'failed', message: 'Overloaded' } }),
      ]),
    );
    const retries = last.parts.filter(({ type }) => type === 'data-onward-retry');
    expect(retries).toEqual([
      expect.objectContaining({ id: 'retry-1', data: { failures: 3, state: 'retrying', message: 'Overloaded' } }),
    ]);
    expect(textOf(last)).toBe('Done.');
  });

  test('the wait before a retry shows with the time of its end', async () => {
    const story = new Story().prompt().step().closeStep('failed').scheduled(500).closeTurn(failed);
    const { last } = await render(stream(story.events));
    expect(last.parts).toContainEqual(
      expect.objectContaining({
        data: { failures: 1, state: 'waiting', message: 'Overloaded', at: 1_500, retry: 1, of: 5 },
      }),
    );
  });

  test('a failure for good ends with an error that names its class, and no half of an answer stays', async () => {
    const { last, errors } = await render(
      stream(new Story().prompt().step().live('Half').closeStep('failed').closeTurn(failed).events),
    );
    expect(errors).toEqual(['The request failed (transient): Overloaded']);
    expect(textOf(last)).toBe('');
    expect(last.parts).toContainEqual(
      expect.objectContaining({
        type: 'data-onward-end',
        data: { reason: 'failed', class: 'transient', message: 'Overloaded' },
      }),
    );
  });

  test('calls and results are tool parts, thinking is a reasoning part', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .live('Hm', 'thinking')
      .block('Hm', 'thinking')
      .live('I look.')
      .block('I look.')
      .call('c1')
      .call('c2')
      .answered()
      .result('c1')
      .result('c2', { ok: false, code: 'tool-failed', message: 'no such file' })
      .closeStep()
      .step()
      .block('Done.')
      .answered()
      .closeStep()
      .closeTurn(completed);
    const { last } = await render(stream(events));
    expect(typesOf(last)).toEqual(['reasoning', 'text', 'tool-bash', 'tool-bash', 'text']);
    expect(last.parts).toContainEqual(
      expect.objectContaining({ toolCallId: 'c1', state: 'output-available', output: 'done' }),
    );
    expect(last.parts).toContainEqual(
      expect.objectContaining({ toolCallId: 'c2', state: 'output-error', errorText: 'tool-failed: no such file' }),
    );
  });

  test('a call of an attempt that failed never shows, and the tools of earlier steps stay', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .call('c1')
      .answered()
      .result('c1')
      .closeStep()
      .step()
      .live('Now')
      .block('Now')
      .call('c2')
      .closeStep('failed')
      .closeTurn(failed)
      .retry()
      .step()
      .block('Done.')
      .answered()
      .closeStep()
      .closeTurn(completed);
    const { last } = await render(stream(events));
    expect(typesOf(last)).toEqual(['tool-bash', 'data-onward-retry', 'text']);
    expect(await convertToModelMessages([last])).toMatchObject([
      { role: 'assistant' },
      { role: 'tool' },
      { role: 'assistant', content: [{ text: 'Done.' }] },
    ]);
  });

  test('two answers that use the same id for a call have a part each', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .call('c')
      .answered()
      .result('c', { ok: true, output: 1 })
      .closeStep()
      .step()
      .call('c')
      .answered()
      .result('c', { ok: true, output: 2 })
      .closeStep()
      .closeTurn(completed);
    const { last } = await render(stream(events));
    expect(last.parts.flatMap((part) => ('output' in part ? [part.output] : []))).toEqual([1, 2]);
  });

  test('a cancel keeps what was shown, once, and says so', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .live('One. ')
      .block('One. ')
      .live('Tw')
      .live('o')
      .interrupted('One. ', 'Two')
      .closeStep('aborted')
      .closeTurn({ reason: 'aborted', cause: 'user' });
    const chunks = await listOf(stream(events));
    expect(chunks.at(-1)).toEqual({ type: 'abort', reason: 'user' });
    const { last } = await render(stream(events));
    expect(textOf(last)).toBe('One. Two');
  });

  test('a limit and a death are no answers', async () => {
    const limit = await render(
      stream(new Story().prompt().closeTurn({ reason: 'limit', scope: 'turn', unit: 'usd', limit: 1 }).events),
    );
    expect(limit.last.parts).toContainEqual(
      expect.objectContaining({ type: 'data-onward-end', data: { reason: 'limit', unit: 'usd', limit: 1 } }),
    );
    const chunks = await listOf(stream(new Story().prompt().step().live('x').events));
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'interrupted' });
  });

  test('who comes in the middle of an answer does not see the end of a text as its beginning', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .missed(3)
      .live('world')
      .block('Hello, world')
      .live('Next')
      .block('Next')
      .answered()
      .closeStep()
      .closeTurn(completed);
    const { states } = await render(stream(events));
    expect(states.map(textOf).filter((text) => text !== '' && !text.startsWith('Hello'))).toEqual([]);
    expect(textOf(states.at(-1) as UIMessage)).toBe('Hello, worldNext');
  });

  test('joined pieces that begin at the beginning are shown as they come', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .missed(3)
      .live('Hello', 'text', 1)
      .live(', you')
      .block('Hello, you')
      .answered()
      .closeStep()
      .closeTurn(completed);
    const { states } = await render(stream(events));
    expect(states.map(textOf)).toContain('Hello');
  });

  test('where live pieces and the log disagree, the log is what stays', async () => {
    const { events } = new Story()
      .prompt()
      .step()
      .block('Sure. ')
      .live('Helo')
      .block('Hello')
      .answered()
      .closeStep()
      .closeTurn(completed);
    expect(textOf((await render(stream(events))).last)).toBe('Sure. Hello');
  });
});

async function* damaged(): AsyncGenerator<AgentEvent> {
  yield* new Story().prompt().step().live('Half').events;
  throw new Error('secret place');
}

test('events that cannot be read are an error of the message, which says no more than it should', async () => {
  const heard: unknown[] = [];
  const onError = (error: unknown): string => `sorry ${heard.push(error)}`;
  expect((await render(toUIMessageStream(damaged()))).errors).toEqual(['The session could not be read.']);
  expect((await render(toUIMessageStream(damaged(), { onError }))).errors).toEqual(['sorry 1']);
  expect(heard).toEqual([new Error('secret place')]);
});

describe('a question', () => {
  test('ends the stream, so that the reader can answer it, and the same message goes on afterwards', async () => {
    const story = asking();
    const first = await render(stream(story.events));
    expect(first.last.parts).toContainEqual(
      expect.objectContaining({ type: 'tool-bash', state: 'approval-requested', approval: { id: 'q1' } }),
    );
    const resume = resumeOf(first.last);
    expect(resume).toEqual({ after: 0, open: true, question: 'q1' });
    story.result('c1').closeStep().step().block(' Done.').answered().closeStep().closeTurn(completed);
    const second = await render(stream(story.events, { ...(resume && { resume }) }), first.last);
    expect(textOf(second.last)).toBe('May I? Done.');
    expect(typesOf(second.last)).toEqual(['text', 'tool-bash', 'text']);
    expect(second.last.parts).toContainEqual(expect.objectContaining({ state: 'output-available' }));
  });

  test('a denied call shows as denied', async () => {
    const { events } = asking()
      .result('c1', { ok: false, code: 'denied', message: 'no' })
      .closeStep()
      .closeTurn(completed);
    const { last } = await render(stream(events, { endAtQuestion: false }));
    expect(last.parts).toContainEqual(expect.objectContaining({ state: 'output-denied' }));
  });
});

describe('a reader that went away', () => {
  /** Any course of one prompt: failures, tools, steps, and an end; with what its text is in the end. */
  const course = fc
    .array(
      fc.record({
        failures: fc.integer({ min: 0, max: 2 }),
        tool: fc.boolean(),
        pieces: fc.array(fc.string({ minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .map((steps) => {
      const story = new Story().prompt();
      for (const { failures, tool, pieces } of steps) {
        for (let n = 0; n < failures; n += 1) {
          story.step();
          for (const piece of pieces) story.live(piece);
          story.closeStep('failed').closeTurn(failed).retry();
        }
        story.step();
        for (const piece of pieces) story.live(piece);
        story.block(pieces.join(''));
        if (tool) story.call('c').answered().result('c');
        else story.answered();
        story.closeStep();
      }
      return { events: story.closeTurn(completed).events, text: steps.map(({ pieces }) => pieces.join('')).join('') };
    });

  test('wherever it stopped, it has each text and each call once after it resumed by position', async () => {
    await fc.assert(
      fc.asyncProperty(course, fc.nat(), async ({ events, text }, cut) => {
        const whole = await render(stream(events));
        expect(textOf(whole.last)).toBe(text);
        const chunks = await listOf(stream(events));
        const kept = chunks.slice(0, 2 + (cut % (chunks.length - 1)));
        const before = await render(ReadableStream.from(kept));
        const resume = resumeOf(before.last);
        expect(resume).toBeDefined();
        const after = await render(stream(events, { ...(resume && { resume }) }), before.last);
        expect(textOf(after.last)).toBe(text);
        expect(typesOf(after.last).filter((type) => type === 'tool-bash')).toEqual(
          typesOf(whole.last).filter((type) => type === 'tool-bash'),
        );
      }),
      { numRuns: 200 },
    );
  });

  test('at the very end hears how it ended, if that is known, and nothing that is not so', async () => {
    const { events } = new Story().prompt().step().block('x').answered().closeStep().closeTurn(completed);
    const { last } = await render(stream(events));
    const resume = resumeOf(last);
    const fromBeginning = await listOf(toUIMessageStream(eventsAfter(events, 0), { ...(resume && { resume }) }));
    expect(fromBeginning).toEqual([expect.objectContaining({ type: 'finish', finishReason: 'stop' })]);
    const rest = await listOf(stream(events, { ...(resume && { resume }) }));
    expect(rest).toEqual([{ type: 'finish', messageMetadata: { onward: resume } }]);
  });

  test('stops the reading at once, also while nothing comes', async () => {
    let returned = 0;
    const events: AsyncIterable<AgentEvent> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => undefined),
        return: () => {
          returned += 1;
          return Promise.resolve({ done: true as const, value: undefined });
        },
      }),
    };
    const reader = toUIMessageStream(events).getReader();
    const read = reader.read();
    await reader.cancel();
    expect(await read).toEqual({ done: true, value: undefined });
    expect(returned).toBe(1);
  });

  test('a message of somebody else, or one that was tampered with, is no place to resume at', () => {
    for (const metadata of [
      undefined,
      null,
      {},
      { onward: 3 },
      { onward: { after: -1 } },
      { onward: { after: 1.5 } },
      { onward: { after: '3' } },
    ])
      expect(resumeOf({ metadata })).toBeUndefined();
  });
});
