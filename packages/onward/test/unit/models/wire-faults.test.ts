import { describe, expect, test } from 'vitest';
import { classify } from '../../../src/kernel/classify.ts';
import { decide } from '../../../src/kernel/decide.ts';
import type { Failure, FailureClass } from '../../../src/kernel/failure.ts';
import { findNonJson } from '../../../src/kernel/json.ts';
import type { ErrorCondition, Fault, LabClock, ModelServer, Place, TurnSpec } from '../../../src/lab/index.ts';
import { startModelServer, systemClock } from '../../../src/lab/index.ts';
import type { ModelPart } from '../../../src/models/model.ts';
import { given, policyWith } from '../kernel/situations.ts';
import { failureIn, KEY, modelAt, partsOf, REQUEST, WIRES } from './wires.ts';

const TURN: TurnSpec = { text: 'Now I write the note.', calls: [{ name: 'note', input: { word: 'one' } }] };
const PLACES: readonly Place[] = ['start', 'text', 'after-text', 'tool-json', 'after-call'];

async function serve(fault: Fault): Promise<ModelServer> {
  return await startModelServer({ script: { turns: [TURN], faults: [{ from: 1, to: null, fault }] } });
}

/** What each condition is, and what is done about a first one, by somebody who waits for usage limits. */
const CONDITIONS: Readonly<Record<ErrorCondition, readonly [FailureClass, action: string]>> = {
  'bad-request': ['input', 'stop'],
  unauthorised: ['auth', 'ask'],
  forbidden: ['auth', 'ask'],
  'not-found': ['input', 'stop'],
  'too-large': ['overflow', 'repair'],
  'rate-limited': ['throttled', 'continue'],
  'usage-limit': ['quota', 'park'],
  billing: ['billing', 'ask'],
  'context-overflow': ['overflow', 'repair'],
  'server-error': ['transient', 'continue'],
  'bad-gateway': ['transient', 'continue'],
  unavailable: ['transient', 'continue'],
  overloaded: ['transient', 'continue'],
};
const CASES = Object.entries(CONDITIONS) as [ErrorCondition, readonly [FailureClass, string]][];

function actionFor(failure: Failure): string {
  const { class: kind } = classify(failure);
  const { resetsAt } = failure;
  const now = resetsAt === undefined ? {} : { resetsAt, now: resetsAt - 60_000, failingSince: resetsAt - 60_000 };
  return decide(given(kind, { policy: policyWith({ quota: { windows: 1 } }), repairable: true, ...now })).action;
}

/** Nothing that a provider's failure carries may be a secret of ours or what was asked. */
function expectClean(failure: Failure): void {
  expect(findNonJson(failure)).toBeUndefined();
  expect(JSON.stringify(failure)).not.toMatch(new RegExp(`${KEY}|secret-prompt|You are brief`));
}

describe.each(WIRES)('$name', (wire) => {
  test.each(CASES)(
    'R07 A84 an HTTP error "%s" is of its class, after exactly one request',
    async (error, [kind, action]) => {
      await using server = await serve({ kind: 'error', error });

      const parts = await partsOf(modelAt(wire, server.url));

      const failure = failureIn(parts);
      expect(parts).toHaveLength(1);
      expect(server.requests).toHaveLength(1);
      expect(failure.status).toBe(server.requests[0]?.status);
      expect(failure.requestId).toMatch(/^req_lab/u);
      expect(classify(failure).class).toBe(kind);
      expect(actionFor(failure)).toBe(action);
      expectClean(failure);
    },
  );

  test.each(CASES)(
    'R81 an error event "%s" in the answer is a failure of its class, never a finish',
    async (error, [kind]) => {
      for (const at of ['start', 'text', 'after-call'] as const) {
        await using server = await serve({ kind: 'error-event', error, at });

        const failure = failureIn(await partsOf(modelAt(wire, server.url)));

        expect(server.requests).toHaveLength(1);
        expect(failure.requestId).toMatch(/^req_lab/u);
        expectClean(failure);
        // Inside a stream Anthropic says of a usage limit and of a full minute the same, without the headers.
        const told = error === 'usage-limit' && wire.api === 'anthropic-messages' ? 'throttled' : kind;
        expect([at, classify(failure).class]).toEqual([at, told]);
      }
    },
  );

  test.each(PLACES)(
    'a connection that is reset at %s is a transport failure with its code and request id',
    async (at) => {
      await using server = await serve({ kind: 'cut', at, how: 'rst' });

      const failure = failureIn(await partsOf(modelAt(wire, server.url)));

      expect(classify(failure)).toMatchObject({ class: 'transient', evidence: 'code=ECONNRESET' });
      expect(failure).toMatchObject({ status: 200, requestId: expect.stringMatching(/^req_lab/u) as string });
      expect(server.requests).toHaveLength(1);
      expectClean(failure);
    },
  );

  test.each(PLACES)('a body that ends cleanly at %s is a cut answer, never a finish', async (at) => {
    await using server = await serve({ kind: 'cut', at, how: 'fin' });

    const failure = failureIn(await partsOf(modelAt(wire, server.url)));

    expect(failure).toMatchObject({ type: 'cut_answer', requestId: expect.stringMatching(/^req_lab/u) as string });
    expect(classify(failure).class).toBe('transient');
    expect(server.requests).toHaveLength(1);
  });

  test.each(PLACES)(
    'a chunk that is no JSON after %s is a malformed chunk, and nothing after it is read',
    async (at) => {
      await using server = await serve({ kind: 'malformed-chunk', at });

      const failure = failureIn(await partsOf(modelAt(wire, server.url)));

      expect(failure.type).toBe('malformed_chunk');
      expect(classify(failure).class).toBe('transient');
      expectClean(failure);
    },
  );

  test('a reset before any header, and a port that is closed, are transport failures', async () => {
    await using server = await serve({ kind: 'reset' });
    const reset = failureIn(await partsOf(modelAt(wire, server.url)));
    await server.refuse();
    const refused = failureIn(await partsOf(modelAt(wire, server.url)));

    expect([reset, refused].map((failure) => classify(failure).evidence)).toEqual([
      'code=ECONNRESET',
      'code=ECONNREFUSED',
    ]);
    expect(server.requests).toHaveLength(1);
  });

  test('a body without a byte is a cut answer; an answer without content finishes, for the loop to judge', async () => {
    await using server = await serve({ kind: 'empty-body' });
    const none = failureIn(await partsOf(modelAt(wire, server.url)));
    server.setScript({ turns: [TURN], faults: [{ from: 1, fault: { kind: 'empty-answer' } }] });
    const empty = await partsOf(modelAt(wire, server.url));

    expect(none.type).toBe('cut_answer');
    expect(empty.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' });
    expect(empty.filter(({ type }) => type === 'delta')).toEqual([]);
  });

  test.each([
    ['max-tokens', 'length'],
    ['refusal', 'content-filter'],
    ['content-filter', 'content-filter'],
    ['pause', 'stop'],
    ['context-window', 'length'],
  ] as const)('a turn that stops with %s finishes with "%s"', async (reason, finish) => {
    await using server = await serve({ kind: 'stop', reason });

    expect((await partsOf(modelAt(wire, server.url))).at(-1)).toMatchObject({ type: 'finish', reason: finish });
  });

  test.each([2, 0])('a Retry-After of %i s is a hint only if it is one', async (retryAfterSeconds) => {
    await using server = await serve({ kind: 'error', error: 'rate-limited', retryAfterSeconds });

    const failure = failureIn(await partsOf(modelAt(wire, server.url)));

    expect(failure.retryAfterMs).toBe(retryAfterSeconds === 0 ? undefined : 2000);
  });

  test('a usage limit carries its end', async () => {
    await using server = await serve({ kind: 'usage-limit', resetsInSeconds: 3600 });
    const before = Math.floor(Date.now() / 1000) * 1000;

    const failure = failureIn(await partsOf(modelAt(wire, server.url)));

    expect(failure).toMatchObject({ type: 'usage_limit_reached', status: 429 });
    expect(failure.resetsAt).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(failure.resetsAt).toBeLessThanOrEqual(Date.now() + 3_600_000);
  });

  test('A127 429 with the words of an empty account is a matter of money, and one request', async () => {
    await using server = await serve({ kind: 'error', error: 'billing' });

    const failure = failureIn(await partsOf(modelAt(wire, server.url)));

    expect(classify(failure).class).toBe('billing');
    expect(actionFor(failure)).toBe('ask');
    expect(server.requests).toHaveLength(1);
  });
});

describe.each(WIRES)('silence on $name', (wire) => {
  /** Reads until the server has gone silent at its fault, aborts with `reason`, and gives all parts. */
  async function abandoned(server: ModelServer, reason: unknown): Promise<readonly ModelPart[]> {
    const stop = new AbortController();
    const reading = partsOf(modelAt(wire, server.url), REQUEST, stop.signal);
    await server.until(([first]) => first?.state === 'at-fault', AbortSignal.timeout(10_000));
    stop.abort(reason);
    return await reading;
  }

  test.each<Fault>([
    { kind: 'no-headers' },
    { kind: 'stall', at: 'start' },
    { kind: 'stall', at: 'text' },
    { kind: 'stall', at: 'tool-json' },
    { kind: 'stall', at: 'after-call' },
  ])('A124 an abort during %j closes the connection that the server sees', async (fault) => {
    await using server = await serve(fault);

    const failure = failureIn(await abandoned(server, new DOMException('Silent for too long.', 'TimeoutError')));

    await server.until(([first]) => first?.state === 'client-gone', AbortSignal.timeout(10_000));
    expect(failure).toEqual({
      message: 'The request was aborted.',
      type: 'aborted',
      cause: { message: 'Silent for too long.', type: 'timeout_error' },
    });
    expect(server.requests).toHaveLength(1);
  });

  test('A122 keep-alive comments are neither a part nor a failure', async () => {
    let pings = 0;
    const clock: LabClock = {
      now: () => systemClock.now(),
      after(ms, act) {
        if (ms === 2) pings += 1;
        return systemClock.after(ms, act);
      },
    };
    const script = {
      turns: [TURN],
      faults: [{ from: 1, fault: { kind: 'ping-only', at: 'text', everyMs: 2 } as const }],
    };
    await using server = await startModelServer({ script, clock });
    const stop = new AbortController();
    const parts: ModelPart[] = [];
    const read = async (): Promise<void> => {
      for await (const part of modelAt(wire, server.url).stream(REQUEST, stop.signal)) parts.push(part);
    };
    const reading = read();
    await expect.poll(() => parts.filter(({ type }) => type === 'delta').length).toBeGreaterThan(0);
    await expect.poll(() => pings).toBeGreaterThan(2);
    const [soFar, pinged] = [parts.length, pings];

    await expect.poll(() => pings, { timeout: 10_000 }).toBeGreaterThan(pinged + 20);

    expect(parts).toHaveLength(soFar);
    stop.abort(new DOMException('Enough.', 'AbortError'));
    await reading;
    expect(failureIn(parts).type).toBe('aborted');
  });

  test('a reader that leaves closes the connection', async () => {
    await using server = await serve({ kind: 'stall', at: 'after-text' });

    for await (const part of modelAt(wire, server.url).stream(REQUEST, new AbortController().signal))
      if (part.type === 'delta') break;

    await server.until(([first]) => first?.state === 'client-gone', AbortSignal.timeout(10_000));
    expect(server.requests).toHaveLength(1);
  });

  test('a signal that has aborted before makes no request', async () => {
    await using server = await serve({ kind: 'reset' });

    const parts = await partsOf(modelAt(wire, server.url), REQUEST, AbortSignal.abort());

    expect(failureIn(parts).type).toBe('aborted');
    expect(server.requests).toHaveLength(0);
  });
});
