import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Aside, Message, ModelRequest, RequestErrorAction } from '../../../src/agent/plugin.ts';
import { compaction, type CompactionOptions } from '../../../src/agent/plugins/compaction/index.ts';
import { estimateTokens } from '../../../src/agent/plugins/compaction/measure.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { createScriptedModel } from '../../../src/testing/index.ts';
import {
  calls,
  image,
  imageRefused,
  kinds,
  long,
  overflow,
  results,
  says,
  textOf,
  user,
} from './compaction-support.ts';
import { createFailingSession, type FailingSession } from './failing-session.ts';

const retry: RequestErrorAction = { kind: 'retry' };
const conversation = (): readonly Message[] => [
  user('first wish'),
  says(long('old answer')),
  user('second wish'),
  calls('x'),
  results(long('newest result', 200), 'x'),
];

interface Setup extends CompactionOptions {
  readonly messages?: readonly Message[];
  readonly contextTokens?: number;
  readonly aside?: (request: ModelRequest, nth: number, session: FailingSession) => Aside | Promise<Aside>;
  readonly asked?: boolean;
}

interface Compacting {
  readonly session: FailingSession;
  readonly asides: readonly ModelRequest[];
  readonly fail: (
    failure?: Failure,
    more?: Parameters<FailingSession['fail']>[0],
  ) => Promise<RequestErrorAction | undefined>;
  readonly preStep: () => Promise<void>;
  /** What was recorded under a kind. */
  readonly data: (kind: string) => readonly unknown[];
}

/** A session in mid-turn with a history, and a request in it that was made before. */
function start({ messages = conversation(), contextTokens, aside, asked = true, ...options }: Setup = {}): Compacting {
  const asides: ModelRequest[] = [];
  const id = 'test/one';
  const model = createScriptedModel([], { id, ...(contextTokens === undefined ? {} : { contextTokens }) });
  const session: FailingSession = createFailingSession([compaction(options)], {
    model,
    messages,
    aside: async (request) => {
      asides.push(request);
      return (await aside?.(request, asides.length, session)) ?? { ok: true, text: 'It was about two wishes.' };
    },
  });
  session.open();
  if (asked) session.emit('header.set', { model: id, system: 'be kind', tools: [], settings: {} });
  return {
    session,
    asides,
    fail: async (failure = overflow, more = {}) => await session.settle(session.fail({ failure, ...more })),
    preStep: async () => {
      const { signal } = new AbortController();
      const trigger = { kind: 'prompt', id: 'p' } as const;
      await session.settle(
        session.run('agent/pre-step', { turn: 1, step: 1, chain: 1, signal, trigger }, () => undefined),
      );
    },
    data: (kind) => session.records('compaction', kind),
  };
}

describe('after an overflow', () => {
  test('A85 A87 the head is replaced by a summary, though no pressure was felt, and one retry is asked for', async () => {
    const { session, asides, fail } = start({ contextTokens: 1_000_000 });
    expect(await fail()).toEqual(retry);
    expect(asides).toHaveLength(1);
    expect(session.messages).toHaveLength(3);
    expect(textOf(session.messages)).not.toContain('old answer');
    expect(textOf(session.messages.slice(0, 1))).toMatch(
      /This is a summary of the earlier conversation.*It was about two wishes\./u,
    );
    expect(kinds(session.events)).toEqual(['compaction.started', 'compaction.finished']);
  });

  test('A90 the newest pair stays whole, and the largest head before it is what is replaced', async () => {
    const { session, fail } = start();
    await fail();
    expect(session.messages.slice(1)).toEqual(conversation().slice(3));
  });

  test('the request for the summary begins as the conversation does, and says last what is wanted', async () => {
    const { session, asides, fail } = start();
    const before = [...session.messages];
    await fail();
    expect({ ...asides[0], messages: [] }).toEqual({ system: 'be kind', tools: [], settings: {}, messages: [] });
    expect(asides[0]?.messages.slice(0, -1)).toEqual(before.slice(0, 3));
    expect(textOf(asides[0]?.messages.slice(-1) ?? [])).toContain('in English');
  });

  test('no tool may be called for a summary, and what only another model can read is left out', async () => {
    const thought: Message = {
      role: 'assistant',
      model: 'other/two',
      content: [{ type: 'thinking', text: 'hm', opaque: { s: 1 } }],
    };
    const { session, asides, fail } = start({ messages: [user('a'), thought, ...conversation()] });
    const tools = [{ name: 'read', description: '', input: {} }];
    session.emit('header.set', {
      model: 'test/one',
      system: 's',
      tools,
      settings: { toolChoice: 'required', temperature: 0 },
    });
    await fail();
    expect(asides[0]?.settings).toEqual({ toolChoice: 'none', temperature: 0 });
    expect(asides[0]?.messages[1]).toMatchObject({ content: [{ type: 'text', text: '(thought)' }] });
  });

  test('A91 a second one in a row costs no request: the budget is used up, and that is on record', async () => {
    const { asides, fail, data, session } = start();
    expect(await fail()).toEqual(retry);
    session.open('retry');
    session.messages.push(user(long('new', 900)));
    expect(await fail()).toBeUndefined();
    expect(asides).toHaveLength(1);
    expect(data('context-irreducible')).toEqual([
      {
        because: 'it still does not fit after a compaction',
        model: 'test/one',
        messages: 4,
        tokens: expect.any(Number) as number,
      },
    ]);
  });

  test('R55 a committed answer gives the budget back: two overflows far apart are two compactions', async () => {
    const { session, asides, fail } = start();
    expect(await fail()).toEqual(retry);
    session.open('retry');
    session.commitAnswer();
    session.messages.push(calls('y'), results(long('more', 1_200), 'y'), calls('z'), results('end', 'z'));
    expect(await fail()).toEqual(retry);
    expect(asides).toHaveLength(2);
  });

  test('R52 what overflows again without having grown is not compacted again, though an answer came between', async () => {
    const { session, asides, fail, data } = start();
    expect(await fail()).toEqual(retry);
    session.open('retry');
    session.commitAnswer();
    session.messages.push(says('ok'));
    expect(await fail()).toBeUndefined();
    expect(asides).toHaveLength(1);
    expect(data('context-irreducible')).toMatchObject([
      { because: 'what is left after a compaction does not fit either' },
    ]);
  });

  test('R52 a prompt has so many compactions and no more, however much it grows', async () => {
    const { session, asides, fail, data } = start({ perPrompt: 3 });
    const actions: unknown[] = [];
    for (let nth = 0; nth < 6; nth++) {
      session.commitAnswer();
      session.messages.push(says('ok'), user(long(`more ${nth}`, 4_000 * 2 ** nth)), says('ok'), user('and'));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      actions.push(await fail());
    }
    expect(actions).toEqual([retry, retry, retry, undefined, undefined, undefined]);
    expect(asides).toHaveLength(3);
    expect(data('context-irreducible')).toHaveLength(3);
    session.open('prompt');
    session.messages.push(says('ok'), user(long('a new prompt', 1_000_000)), says('ok'), user('and'));
    expect(await fail()).toEqual(retry);
  });

  test('A92 with a budget of 0 nothing is done and nothing recorded', async () => {
    const { session, asides, fail } = start({ overflow: 0 });
    expect(await fail()).toBeUndefined();
    expect([asides.length, session.generation, kinds(session.events)]).toEqual([0, 0, []]);
  });

  test('A92 with a budget of 0 pressure still works', async () => {
    const { session, preStep } = start({ overflow: 0, contextTokens: 1_000 });
    await preStep();
    expect(session.generation).toBe(1);
  });

  test('R53 with a budget of 0 and no pressure nothing ever compacts, neither for large files', async () => {
    const { session, asides, fail, preStep } = start({
      overflow: 0,
      pressure: false,
      contextTokens: 10,
      messages: [image('A'.repeat(6e6)), user('b')],
    });
    await preStep();
    expect(await fail()).toBeUndefined();
    expect([asides.length, session.generation, kinds(session.events)]).toEqual([0, 0, []]);
  });

  test('A94 a summary that is not smaller than its source is not used', async () => {
    const { session, fail, data } = start({ aside: () => ({ ok: true, text: long('chatty', 2_000) }) });
    const before = [...session.messages];
    expect(await fail()).toBeUndefined();
    expect(session.messages).toEqual(before);
    expect(data('compaction.failed')).toMatchObject([
      { because: 'the summary is not smaller than what it stands for' },
    ]);
    expect(data('context-irreducible')).toHaveLength(1);
  });

  test('an empty summary is not used', async () => {
    const { session, fail, data } = start({ aside: () => ({ ok: true, text: ' \n' }) });
    expect(await fail()).toBeUndefined();
    expect(session.generation).toBe(0);
    expect(data('compaction.failed')).toMatchObject([{ because: 'the summary is empty' }]);
  });

  test('A95 a history that was changed meanwhile is left as it is', async () => {
    const { session, fail, data } = start({
      aside: (_request, _nth, inner) => {
        inner.messages.splice(0, 1);
        inner.generation += 1;
        return { ok: true, text: 'short' };
      },
    });
    // Somebody made it smaller: that is a reason to try again.
    expect(await fail()).toEqual(retry);
    expect(session.messages).toEqual(conversation().slice(1));
    expect(data('compaction.finished')).toMatchObject([{ complete: false, because: 'the history changed meanwhile' }]);
  });

  test('A95 records and messages that came meanwhile change nothing', async () => {
    const { session, fail } = start({
      aside: async (_request, _nth, inner) => {
        inner.emit('plugin.recorded', { turn: 1, step: 1, plugin: 'other', kind: 'note', data: {} });
        inner.messages.push(user('late'));
        return await Promise.resolve({ ok: true, text: 'short' });
      },
    });
    expect(await fail()).toEqual(retry);
    expect(session.messages).toHaveLength(4);
    expect(session.messages.at(-1)).toEqual(user('late'));
  });

  test('A96 when nothing could be replaced the listeners behind are asked, once', async () => {
    const { session } = start({ aside: () => ({ ok: false, failure: { message: 'no', status: 401 } }) });
    let asked = 0;
    const next = (): RequestErrorAction | undefined => {
      asked += 1;
      return undefined;
    };
    expect(await session.settle(session.fail({ failure: overflow, next }))).toBeUndefined();
    expect(asked).toBe(1);
    expect(kinds(session.events)).toEqual(['compaction.started', 'compaction.failed']);
  });

  test.each([
    ['fails', (): Aside => ({ ok: false, failure: { message: 'no', status: 401 } })],
    [
      'throws',
      (): Aside => {
        throw new Error('broken');
      },
    ],
  ])('a retry is asked for when pruning landed, though the summary %s later', async (_how, aside) => {
    const messages = [user('a'), calls('x'), results(long('large', 5_000), 'x'), ...conversation()];
    const { session, fail, data } = start({ messages, aside });
    expect(await fail()).toEqual(retry);
    expect(session.generation).toBe(1);
    expect(estimateTokens(session.messages)).toBeLessThan(2_500);
    expect(data('compaction.finished')).toMatchObject([{ complete: false }]);
  });

  test('a result of a tool that fills the context by itself is cut, though it is the newest', async () => {
    const messages = [user('read it'), calls('x'), results(long('everything', 50_000), 'x')];
    const { session, fail } = start({ messages });
    expect(await fail()).toEqual(retry);
    expect(estimateTokens(session.messages)).toBeLessThan(2_500);
    expect(session.messages.slice(-2)).toMatchObject([calls('x'), { role: 'tool', content: [{ id: 'x' }] }]);
  });

  test('the prompt under way is quoted where it was summarised away', async () => {
    const { session, fail } = start({ messages: [] });
    const content = [{ type: 'text' as const, text: 'Translate the book, chapter by chapter.' }];
    session.emit('message.accepted', { id: 'prompt-2', kind: 'prompt', content });
    session.open('prompt');
    session.messages.push({ role: 'user', content }, says(long('chapter')), calls('x'), results('r', 'x'));
    expect(await fail()).toEqual(retry);
    expect(textOf(session.messages.slice(0, 1))).toContain(
      '<request>\\nTranslate the book, chapter by chapter.\\n</request>',
    );
  });

  test('the prompt is not quoted where it stands itself', async () => {
    const { session, fail } = start({ messages: [user('a'), says(long('b'))] });
    const content = [{ type: 'text' as const, text: 'Go on.' }];
    session.emit('message.accepted', { id: 'prompt-2', kind: 'prompt', content });
    session.open('prompt');
    session.messages.push({ role: 'user', content });
    await fail();
    expect(textOf(session.messages)).not.toContain('<request>');
  });

  test('a summary that fails in passing is asked for again, after a wait that is on record', async () => {
    const { session, asides, fail, data } = start({
      aside: (_request, nth) =>
        nth < 3 ? { ok: false, failure: { message: 'busy', status: 529 } } : { ok: true, text: 'short' },
    });
    expect(await fail()).toEqual(retry);
    expect([asides.length, session.generation]).toEqual([3, 1]);
    expect(data('summary.waiting')).toEqual([
      { nth: 1, waitMs: 1_000 },
      { nth: 2, waitMs: 4_000 },
    ]);
  });

  test('a summary that keeps failing in passing is asked for three times, and is not called irreducible', async () => {
    const { asides, fail, data } = start({ aside: () => ({ ok: false, failure: { message: 'busy', status: 529 } }) });
    expect(await fail()).toBeUndefined();
    expect(asides).toHaveLength(3);
    expect(data('context-irreducible')).toEqual([]);
  });

  test('R54 a request for a summary that overflows itself falls back to pieces', async () => {
    const messages = Array.from({ length: 10 }, (_, nth) => [user(`q${nth}`), says(long(`a${nth}`, 100))]).flat();
    const { session, asides, fail } = start({
      messages: [...messages, user('now')],
      aside: (request) =>
        estimateTokens(request.messages) > 700
          ? { ok: false, failure: overflow }
          : { ok: true, text: 'so far so good' },
    });
    expect(await fail()).toEqual(retry);
    expect(session.messages).toHaveLength(2);
    expect(asides.length).toBeGreaterThan(2);
    expect(asides.length).toBeLessThanOrEqual(8);
  });

  test('R54 when no piece fits either it is given up, with a bounded number of requests and as irreducible', async () => {
    const { session, asides, fail, data } = start({ aside: () => ({ ok: false, failure: overflow }) });
    expect(await fail()).toBeUndefined();
    expect([session.generation, asides.length]).toEqual([0, 2]);
    expect(data('context-irreducible')).toMatchObject([
      { because: expect.stringContaining('the summary failed') as string },
    ]);
  });

  test('a cancel while it is summarised prevents the retry, and the pruning stays', async () => {
    const turn = new AbortController();
    const messages = [user('a'), calls('x'), results(long('large', 5_000), 'x'), ...conversation()];
    const { session, fail } = start({
      messages,
      aside: () => {
        turn.abort();
        return { ok: false, failure: { message: 'The request was cancelled.', type: 'cancelled' } };
      },
    });
    expect(await fail(overflow, { signal: turn.signal })).toBeUndefined();
    expect(session.generation).toBe(1);
  });

  test('a cancel while it is pruned prevents the request for a summary', async () => {
    const turn = new AbortController();
    const messages = [user('a'), calls('x'), results(long('large', 5_000), 'x'), ...conversation()];
    const { session, asides, fail } = start({ messages });
    session.load({
      name: 'watch',
      setup: (host) => void host.observe(({ type }) => void (type === 'history.replaced' && turn.abort())),
    });
    expect(await fail(overflow, { signal: turn.signal })).toBeUndefined();
    expect([session.generation, asides.length]).toEqual([1, 0]);
  });

  test('a cancel ends the wait for another summary at once', async () => {
    const turn = new AbortController();
    const { session, asides } = start({ aside: () => ({ ok: false, failure: { message: 'busy', status: 529 } }) });
    const answer = session.fail({ failure: overflow, signal: turn.signal });
    while (session.clock.pending().length === 0) await session.clock.advance(0);
    turn.abort();
    expect(await answer).toBeUndefined();
    expect([asides.length, session.clock.pending()]).toEqual([1, []]);
  });

  test('a summary that was cut or refused is not asked for again', async () => {
    const { asides, fail } = start({ aside: () => ({ ok: false, failure: { message: 'cut', stop: 'max_tokens' } }) });
    expect(await fail()).toBeUndefined();
    expect(asides).toHaveLength(1);
  });

  test('what could be summarised only in part may be so again, within the budget', async () => {
    const messages = Array.from({ length: 4 }, (_, nth) => [user(`q${nth}`), says(long(`a${nth}`, 400))]).flat();
    const { session, fail, data } = start({
      overflow: 2,
      messages: [...messages, user('now')],
      aside: (_request, nth) => {
        if (nth === 1) return { ok: false, failure: overflow };
        return nth === 3 ? { ok: false, failure: { message: 'no', status: 401 } } : { ok: true, text: 'so far' };
      },
    });
    expect(await fail()).toEqual(retry);
    session.open('retry');
    expect(await fail()).toEqual(retry);
    expect(session.messages).toHaveLength(2);
    expect(data('compaction.finished')).toMatchObject([
      { complete: false, because: 'only the oldest part could be summarised' },
      { complete: true },
    ]);
  });

  test('R54 files that the request for a summary is refused for are left out of it', async () => {
    const { session, asides, fail } = start({
      messages: [image('AAAA', long('look', 400)), ...conversation()],
      aside: ({ messages }) =>
        textOf(messages).includes('"media"') ? { ok: false, failure: imageRefused } : { ok: true, text: 'seen' },
    });
    expect(await fail()).toEqual(retry);
    expect([session.messages.length, asides.length]).toEqual([3, 2]);
  });

  test('nothing is done where the turn was cancelled before, or no request was ever made', async () => {
    const cancelled = start();
    expect(await cancelled.fail(overflow, { signal: AbortSignal.abort() })).toBeUndefined();
    expect(kinds(cancelled.session.events)).toEqual([]);
    const never = start({ asked: false });
    expect(await never.fail()).toBeUndefined();
    expect(kinds(never.session.events)).toEqual([]);
  });

  test('failures of other kinds are passed on', async () => {
    const { session, fail } = start();
    expect(await fail({ message: 'busy', status: 529 })).toBeUndefined();
    expect(await fail({ message: 'no', status: 401 })).toBeUndefined();
    expect(await fail({ message: 'bad schema', status: 400 })).toBeUndefined();
    expect(kinds(session.events)).toEqual([]);
  });

  test('counts are those of the log: a restart gives no new budget', async () => {
    const first = start();
    await first.fail();
    const again = createFailingSession([compaction()], {
      events: first.session.events,
      messages: first.session.messages,
    });
    again.messages.push(user(long('new', 900)));
    expect(await again.settle(again.fail({ failure: overflow }))).toBeUndefined();
    expect(again.records('compaction', 'context-irreducible')).toHaveLength(1);
  });

  test('a compaction that a crash cut off leaves a record that only counts', async () => {
    const { session, fail } = start();
    session.emit('plugin.recorded', {
      turn: 1,
      step: 1,
      plugin: 'compaction',
      kind: 'compaction.started',
      data: { why: 'overflow' },
    });
    expect(await fail()).toBeUndefined();
    session.open('prompt');
    expect(await fail()).toEqual(retry);
  });
});

describe('under pressure', () => {
  const fills = { messages: [user('a'), says(long('old', 700)), user('b'), says(long('middle', 80)), user('now')] };

  test('above the limit the history is compacted before the request, and its newest part stays', async () => {
    const { session, preStep } = start({ ...fills, contextTokens: 900 });
    await preStep();
    expect(session.messages).toHaveLength(4);
    expect(session.messages.slice(1)).toEqual(fills.messages.slice(2));
  });

  test('below the limit nothing happens', async () => {
    const { session, preStep } = start({ ...fills, contextTokens: 1_100 });
    await preStep();
    expect(kinds(session.events)).toEqual([]);
  });

  test('the count of the provider is believed over an estimate', async () => {
    const { session, preStep } = start({ ...fills, contextTokens: 100_000 });
    session.emit('step.opened', { turn: 1, step: 1, model: 'test/one', messages: 4, generation: 0 });
    const usage = { inputTokens: 85_000, outputTokens: 10 };
    session.emit('answer.completed', { turn: 1, step: 1, blocks: 0, finish: 'stop', usage });
    await preStep();
    expect(session.generation).toBe(1);
    // What was counted is no longer there.
    session.messages.push(user(long('more', 400)));
    await preStep();
    expect(session.generation).toBe(1);
  });

  test('what came from a cache of the provider counts, where it is counted apart', async () => {
    const { session, preStep } = start({ ...fills, contextTokens: 100_000 });
    session.emit('step.opened', { turn: 1, step: 1, model: 'test/one', messages: 4, generation: 0 });
    const usage = { inputTokens: 12, cacheReadTokens: 80_000, cacheWriteTokens: 4_000 };
    session.emit('answer.completed', { turn: 1, step: 1, blocks: 0, finish: 'stop', usage });
    await preStep();
    expect(session.generation).toBe(1);
  });

  test('what was enough by pruning is not summarised', async () => {
    const messages = [user('a'), calls('x'), results(long('large', 9_000), 'x'), user('now'), says('b'), user('c')];
    const { session, asides, preStep } = start({ messages, contextTokens: 10_000 });
    await preStep();
    expect([session.generation, asides.length]).toEqual([1, 0]);
  });

  test('results that no model has seen yet are not cut', async () => {
    const messages = [user('a'), calls('x'), results(long('large', 9_000), 'x')];
    const { session, preStep } = start({ messages, contextTokens: 10_000 });
    await preStep();
    expect(session.messages).toEqual(messages);
  });

  test('a failure is on record, changes nothing, and is not repeated before the history has grown', async () => {
    const { session, asides, preStep, data } = start({
      ...fills,
      contextTokens: 900,
      aside: () => ({ ok: false, failure: { message: 'no', status: 401 } }),
    });
    await preStep();
    await preStep();
    expect(asides).toHaveLength(1);
    expect(data('compaction.failed')).toMatchObject([{ why: 'pressure', because: 'the summary failed: no' }]);
    expect(session.messages).toEqual(fills.messages);
    session.messages.push(user(long('more', 100)));
    await preStep();
    expect(asides).toHaveLength(2);
  });

  test('a failure is tried again for the next prompt', async () => {
    const { session, asides, preStep } = start({
      ...fills,
      contextTokens: 900,
      aside: () => ({ ok: false, failure: { message: 'no', status: 401 } }),
    });
    await preStep();
    session.open('prompt');
    await preStep();
    expect(asides).toHaveLength(2);
  });

  test('a window that nobody knows is said once for each model', async () => {
    const { preStep, data, asides } = start(fills);
    await preStep();
    await preStep();
    expect(data('capacity-unknown')).toEqual([{ model: 'test/one' }]);
    expect(asides).toEqual([]);
  });

  test('a session that made no request does nothing, and neither does one without pressure', async () => {
    const never = start({ ...fills, contextTokens: 900, asked: false });
    await never.preStep();
    expect(kinds(never.session.events)).toEqual([]);
    const off = start({ ...fills, contextTokens: 900, pressure: false });
    await off.preStep();
    expect(kinds(off.session.events)).toEqual([]);
    expect(await off.fail()).toEqual(retry);
  });

  test('a log that takes no record hinders no request', async () => {
    const { session, preStep } = start({ ...fills, contextTokens: 900 });
    session.recordFault = new Error('disk full');
    await expect(preStep()).resolves.toBeUndefined();
    expect(session.generation).toBe(0);
  });
});

describe('a refused file', () => {
  const large = 'A'.repeat(5_300_000);

  test('R56 is replaced by a note once, and the messages before it are as they were', async () => {
    const messages = [user('a'), says('b'), image(large), says('c'), user('d')];
    const { session, asides, fail } = start({ messages });
    expect(await fail(imageRefused)).toEqual(retry);
    expect(session.messages.filter((message, index) => message !== messages[index])).toHaveLength(1);
    expect(textOf(session.messages)).toContain('[A file (image/png, 3975000 bytes) stood here.');
    expect(session.messages.slice(0, 2)).toEqual(messages.slice(0, 2));
    expect(await fail(imageRefused)).toBeUndefined();
    expect([session.generation, asides.length]).toEqual([1, 0]);
  });

  test('R56 only the one over the limit goes; all go when the provider still says that it is one', async () => {
    const messages = [image('AAAA'), image(large), user('b')];
    const { session, fail } = start({ messages });
    expect(await fail(imageRefused)).toEqual(retry);
    expect(session.messages[0]).toBe(messages[0]);
    expect(await fail(imageRefused)).toEqual(retry);
    expect(textOf(session.messages)).not.toContain('"media"');
    expect(await fail(imageRefused)).toBeUndefined();
  });

  test('R56 has two repairs in a row and no more, however many files come', async () => {
    const { session, fail } = start({ messages: [] });
    const actions: unknown[] = [];
    for (let nth = 0; nth < 4; nth++) {
      session.messages.push(image(large));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      actions.push(await fail(imageRefused));
    }
    expect(actions).toEqual([retry, retry, undefined, undefined]);
    session.commitAnswer();
    expect(await fail(imageRefused)).toEqual(retry);
  });

  test('R57 is found by its size where a refusal names no file', async () => {
    const { session, fail } = start({ messages: [image(large), user('b')] });
    expect(await fail({ message: 'bad', status: 400 })).toEqual(retry);
    expect(session.generation).toBe(1);
    expect(await fail({ message: 'bad', status: 400 })).toBeUndefined();
  });

  test('files within the limit stay where a refusal names none', async () => {
    const { session, fail } = start({ messages: [image('AAAA'), user('b')] });
    expect(await fail({ message: 'bad', status: 400 })).toBeUndefined();
    expect(session.generation).toBe(0);
  });

  test('R57 makes an overflow of bytes fit without a summary', async () => {
    const { asides, fail } = start({ messages: [...conversation(), says('x'), image(large)] });
    expect(await fail({ message: 'Request exceeds the maximum size', status: 413, type: 'request_too_large' })).toEqual(
      retry,
    );
    expect(asides).toEqual([]);
  });

  test('links in a history are not taken for large files', async () => {
    const { session, fail } = start({ messages: [image(`https://example.org/${'a'.repeat(4_000_000)}`), user('b')] });
    expect(await fail({ message: 'bad', status: 400 })).toBeUndefined();
    expect(session.generation).toBe(0);
  });
});

test('unloading the plugin ends a summary that it waits for', async () => {
  const { session, data } = start({
    aside: async (_request, _nth, inner) => {
      await inner.unload('compaction');
      return { ok: false, failure: { message: 'busy', status: 529 } };
    },
  });
  expect(await session.fail({ failure: overflow })).toBeUndefined();
  expect([session.clock.pending(), data('summary.waiting')]).toEqual([[], []]);
});

const act = fc.oneof(
  fc.record({
    do: fc.constant('fail' as const),
    failure: fc.constantFrom(overflow, imageRefused),
    summary: fc.constantFrom('short', '', 'fails', 'overflows'),
  }),
  fc.record({ do: fc.constant('grow' as const), tokens: fc.integer({ min: 1, max: 5_000 }), image: fc.boolean() }),
  fc.record({ do: fc.constantFrom('answer' as const, 'retry' as const, 'prompt' as const, 'step' as const) }),
);

test('for any failures, answers and prompts the compactions of a prompt are bounded, and each retry changed the history', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 40 }),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 5 }),
      async (acts, budget, perPrompt) => {
        const said = { summary: 'short' };
        const { session, fail, preStep, data } = start({
          overflow: budget,
          perPrompt,
          contextTokens: 4_000,
          aside: () => summaryOf(said.summary),
        });
        const seen = { unfounded: 0, inARow: 0, most: 0, perPrompt: 0 };
        let [begun, row] = [0, 0];
        for (const next of acts) {
          const before = session.generation;
          if (next.do === 'fail') {
            said.summary = next.summary;
            // oxlint-disable-next-line no-await-in-loop -- one after the other
            const action = await fail(next.failure);
            if (action !== undefined) row += 1;
            if (action !== undefined && session.generation === before) seen.unfounded += 1;
          }
          // oxlint-disable-next-line no-await-in-loop
          if (next.do === 'step') await preStep();
          if (next.do === 'grow')
            session.messages.push(next.image ? image('A'.repeat(next.tokens)) : user(long('more', next.tokens)));
          if (next.do === 'answer') session.commitAnswer();
          if (next.do === 'retry' || next.do === 'prompt') session.open(next.do);
          seen.most = Math.max(seen.most, row);
          if (next.do === 'answer' || next.do === 'prompt') row = 0;
          if (next.do === 'prompt') begun = data('compaction.started').length;
          seen.perPrompt = Math.max(seen.perPrompt, data('compaction.started').length - begun);
        }
        expect(seen.unfounded).toBe(0);
        // Two are for files.
        expect(seen.most).toBeLessThanOrEqual(budget + 2);
        expect(seen.perPrompt).toBeLessThanOrEqual(perPrompt);
      },
    ),
    { numRuns: 100 },
  );
});

function summaryOf(said: string): Aside {
  if (said === 'fails') return { ok: false, failure: { message: 'no', status: 401 } };
  return said === 'overflows' ? { ok: false, failure: overflow } : { ok: true, text: said };
}
