import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import { failover, llmRetry } from '../../../src/library/agent/index.ts';
import { createScriptedModel, type ScriptedItem } from '../../../src/testing/index.ts';
import { at, msOf, only, traced } from './trace-rig.ts';

const down: readonly ScriptedItem[] = [{ fail: { message: 'Overloaded', status: 529, type: 'overloaded_error' } }];
const reset: readonly ScriptedItem[] = [{ fail: { message: 'socket hang up', code: 'ECONNRESET' } }];
const well: readonly ScriptedItem[] = [
  'done',
  { finish: 'stop', usage: { inputTokens: 12, outputTokens: 3, cacheReadTokens: 8, usd: 0.5 } },
];

describe('retried calls in a trace', () => {
  test('R140 two failures and a success are three numbered attempts under one prompt, each retry with its cause and budget', async () => {
    const { spans } = await traced([down, reset, well]);
    const prompt = only(spans, ({ name }) => name === 'invoke_agent');
    const turns = [1, 2, 3].map((turn) => at(spans, turn));
    const requests = [1, 2, 3].map((turn) => at(spans, turn, 1));
    expect(spans).toHaveLength(7);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(turns.map((span) => span.parentSpanContext?.spanId)).toEqual(turns.map(() => prompt.spanContext().spanId));
    expect(requests.map((span) => span.parentSpanContext?.spanId)).toEqual(
      turns.map((span) => span.spanContext().spanId),
    );
    for (const list of [turns, requests])
      expect(list.map(({ attributes }) => attributes['onward.attempt'])).toEqual([1, 2, 3]);
    const none = Object.keys(turns[0]?.attributes ?? {}).filter((key) => /retry_of|retry\.(cause|budget)/.test(key));
    expect(none).toEqual([]);
    const second = {
      'onward.retry_of': 1,
      'onward.retry.cause.class': 'transient',
      'onward.retry.cause.rule': 'kernel/1:overloaded',
      'onward.retry.cause.status': 529,
      'onward.retry.cause.type': 'overloaded_error',
      'onward.retry.delay_ms': 500,
      'onward.retry.budget.max': 5,
      'onward.retry.budget.used': 1,
    };
    const third = {
      'onward.retry_of': 2,
      'onward.retry.cause.class': 'transient',
      'onward.retry.cause.rule': 'kernel/1:transport',
      'onward.retry.cause.type': 'ECONNRESET',
      'onward.retry.delay_ms': 1_000,
      'onward.retry.budget.max': 5,
      'onward.retry.budget.used': 2,
    };
    for (const list of [turns, requests]) {
      expect(list[1]?.attributes).toMatchObject(second);
      expect(list[2]?.attributes).toMatchObject(third);
      expect(list[2]?.attributes).not.toHaveProperty('onward.retry.cause.status');
    }
  });

  test('R140 a retry is linked to what it repeats: the turn to the failed turn, the request to the failed request', async () => {
    const { spans } = await traced([down, down, well]);
    for (const step of [undefined, 1]) {
      const [first, second, third] = [1, 2, 3].map((turn) => at(spans, turn, step));
      expect(first?.links).toEqual([]);
      expect(second?.links.map((link) => link.context.spanId)).toEqual([first?.spanContext().spanId]);
      expect(third?.links.map((link) => link.context.spanId)).toEqual([second?.spanContext().spanId]);
    }
  });

  test('failed attempts are errors of their class, and the prompt that was saved is none', async () => {
    const { spans } = await traced([down, well]);
    const error = { code: SpanStatusCode.ERROR, message: 'transient (kernel/1:overloaded)' };
    const failed = {
      'error.type': 'overloaded_error',
      'http.response.status_code': 529,
      'onward.failure.class': 'transient',
      'onward.failure.rule': 'kernel/1:overloaded',
      'onward.outcome': 'failed',
    };
    expect(at(spans, 1).status).toEqual(error);
    expect(at(spans, 1).attributes).toMatchObject({ ...failed, 'onward.retry.scheduled': true });
    expect(at(spans, 1, 1).status).toEqual(error);
    expect(at(spans, 1, 1).attributes).toMatchObject(failed);
    const saved = [at(spans, 2), at(spans, 2, 1), only(spans, ({ name }) => name === 'invoke_agent')];
    for (const { status, attributes } of saved) {
      expect(status).toEqual({ code: SpanStatusCode.UNSET });
      expect(attributes['onward.outcome']).toBe('completed');
      expect(attributes).not.toHaveProperty('error.type');
    }
    expect(saved[2]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': 's',
      'onward.attempts': 2,
    });
  });

  test('a request has the names of the conventions, and the times of its events', async () => {
    const { spans, start } = await traced([down, well]);
    const request = at(spans, 2, 1);
    expect([request.name, request.kind]).toEqual(['chat large-1', SpanKind.CLIENT]);
    expect(request.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'acme',
      'gen_ai.request.model': 'large-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 3,
      'gen_ai.usage.cache_read.input_tokens': 8,
      'onward.usage.usd': 0.5,
    });
    // The wait lies in the failed turn, which is closed only when its owner has decided.
    expect([msOf(at(spans, 1, 1).endTime), msOf(at(spans, 1).endTime)]).toEqual([start, start + 500]);
    expect(msOf(request.startTime)).toBe(start + 500);
  });

  test('when all retries are used up, the prompt ends as the last failure, with the number of attempts', async () => {
    const { spans } = await traced(() => down, { plugins: [llmRetry({ retries: 2 })] });
    const prompt = only(spans, ({ name }) => name === 'invoke_agent');
    expect(prompt.status).toEqual({ code: SpanStatusCode.ERROR, message: 'transient (kernel/1:overloaded)' });
    expect(prompt.attributes).toMatchObject({ 'onward.attempts': 3, 'onward.outcome': 'failed' });
    expect(at(spans, 3).attributes).toMatchObject({ 'onward.retry.budget.used': 2, 'onward.retry.budget.max': 2 });
    expect(at(spans, 3).attributes).not.toHaveProperty('onward.retry.scheduled');
  });

  test('only the first request of a retry turn repeats one, and an answer refills the budget but not the attempts', async () => {
    const look: readonly ScriptedItem[] = [{ call: 'look' }];
    const { spans } = await traced([down, look, down, well], { tools: [lookTool] });
    expect(at(spans, 2, 1).attributes).toMatchObject({ 'onward.retry_of': 1, 'onward.retry.budget.used': 1 });
    expect(at(spans, 2, 2).attributes).toMatchObject({ 'onward.attempt': 2, 'onward.outcome': 'failed' });
    expect(at(spans, 2, 2).attributes).not.toHaveProperty('onward.retry_of');
    expect(at(spans, 2, 2).links).toEqual([]);
    expect(at(spans, 3, 1).attributes).toMatchObject({
      'onward.attempt': 3,
      'onward.retry_of': 2,
      'onward.retry.budget.used': 1,
    });
    expect(at(spans, 3, 1).links.map((link) => link.context.spanId)).toEqual([at(spans, 2, 2).spanContext().spanId]);
  });

  test('a retry that another plugin owns has its cause, and no budget that nobody put on record', async () => {
    const spare = createScriptedModel(() => 'done', { id: 'other/small' });
    const { spans } = await traced(
      () => [{ fail: { message: 'No credit.', type: 'insufficient_quota', status: 429 } }],
      {
        plugins: [failover({ to: spare })],
      },
    );
    expect(at(spans, 2, 1).attributes).toMatchObject({
      'gen_ai.request.model': 'small',
      'onward.attempt': 2,
      'onward.retry_of': 1,
      'onward.retry.cause.class': 'billing',
      'onward.retry.cause.type': 'insufficient_quota',
    });
    expect(at(spans, 2, 1).attributes).not.toHaveProperty('onward.retry.budget.max');
  });
});

const lookTool = {
  name: 'look',
  description: 'Looks.',
  input: { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } },
  inputSchema: { type: 'object' },
  effect: 'none',
  run: () => 'seen',
} as const;
