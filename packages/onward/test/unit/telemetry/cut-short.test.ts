import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { type ReadableSpan, StackContextManager } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { readSession, sessionStream } from '../../../src/agent/index.ts';
import { type AgentEvent, llmRetry, type SessionEvent } from '../../../src/library/agent/index.ts';
import { type SpanDescription, spansOf, traceSession } from '../../../src/telemetry/index.ts';
import { createScriptedModel, type ScriptedItem } from '../../../src/testing/index.ts';
import { rounds, testTool, until } from '../agent/start-test-agent.ts';
import { endRigs, type LoopRig, startRig } from '../agent-plugins/loop-rig.ts';
import { at, createTraces, msOf, only, oneByOne, traced } from './trace-rig.ts';

afterEach(endRigs);

const down: readonly ScriptedItem[] = [{ fail: { message: 'Overloaded', status: 529, type: 'overloaded_error' } }];

async function tracesOf(events: Iterable<AgentEvent>): Promise<readonly ReadableSpan[]> {
  const { tracer, spans } = createTraces();
  await traceSession(oneByOne(events), tracer);
  return spans();
}

async function stored(rig: LoopRig): Promise<readonly SessionEvent[]> {
  return await readSession(rig.journal, sessionStream('s'));
}

function described(span: SpanDescription): string {
  return JSON.stringify([span.name, span.startedAt, span.endedAt, span.error ?? null, span.attributes]);
}

function exported({ name, startTime, endTime, status, attributes }: ReadableSpan): string {
  return JSON.stringify([name, msOf(startTime), msOf(endTime), status.message ?? null, attributes]);
}

/** The events with a moment between one and the next. */
function spread(events: readonly AgentEvent[], first: number): readonly AgentEvent[] {
  return events.map((event, nth) => ('at' in event ? { ...event, at: first + nth } : event));
}

/** A session with a failure, calls, a second failure and a second prompt. */
async function sample(): Promise<readonly AgentEvent[]> {
  const { events } = await traced([down, ['text', { call: 'look' }, { call: 'send' }], down, 'done'], {
    tools: [testTool('look'), testTool('send', () => 'sent', { effect: 'untracked' })],
  });
  return events;
}

describe('a turn that a crash interrupted', () => {
  test('closes at the repair, and its retry is another attempt of the same prompt', async () => {
    const rig = await startRig({ model: createScriptedModel([[{ stall: true }]]), plugins: [llmRetry()] });
    rig.agent.followup('Go.');
    await rounds();
    expect((await stored(rig)).at(-1)?.type).toBe('header.set');
    const began = rig.clock.now();
    await rig.clock.advance(30_000);
    const model = createScriptedModel(['done']);
    const again = await rig.afterKill({ model, plugins: [llmRetry()], recover: true });
    await again.settle(again.agent.whenIdle());
    const spans = await tracesOf(await stored(again));
    const lost = at(spans, 1, 1);
    expect(lost.status).toEqual({ code: SpanStatusCode.ERROR, message: 'crash (kernel/1:ended-without-result)' });
    expect(lost.attributes).toMatchObject({ 'onward.outcome': 'interrupted', 'error.type': 'host-crashed' });
    expect(msOf(lost.endTime)).toBe(began + 30_000);
    expect(at(spans, 2, 1).attributes).toMatchObject({
      'onward.attempt': 2,
      'onward.retry_of': 1,
      'onward.retry.cause.class': 'crash',
      'onward.retry.budget.used': 1,
    });
    expect(at(spans, 2, 1).links.map((link) => link.context.spanId)).toEqual([lost.spanContext().spanId]);
    expect(only(spans, ({ name }) => name === 'invoke_agent').attributes['onward.outcome']).toBe('completed');
    expect(spans.filter(({ attributes }) => 'onward.unfinished' in attributes)).toEqual([]);
  });

  test('ends as interrupted when nobody recovers it, and a call whose outcome nobody knows says so', async () => {
    const never = new Promise<string>(() => {});
    const tools = [testTool('send', async () => await never, { effect: 'untracked' })];
    const rig = await startRig({ model: createScriptedModel([[{ call: 'send' }]]), plugins: [], tools });
    rig.agent.followup('Go.');
    const seen: SessionEvent[] = [];
    await until(() => {
      void stored(rig).then((events) => seen.splice(0, seen.length, ...events));
      return seen.at(-1)?.type === 'call.started';
    });
    const again = await rig.afterKill({ model: createScriptedModel([]), plugins: [], tools });
    const spans = await tracesOf(await stored(again));
    const call = only(spans, ({ name }) => name === 'execute_tool send');
    expect(call.attributes['onward.tool.outcome']).toBe('outcome-unknown');
    expect(at(spans, 1, 1).attributes['onward.outcome']).toBe('completed');
    for (const span of [at(spans, 1), only(spans, ({ name }) => name === 'invoke_agent')]) {
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'interrupted' });
      expect(span.attributes['onward.outcome']).toBe('interrupted');
    }
  });
});

describe('events that end early', () => {
  test('leave no span open, wherever they end: each has one beginning and one end, and what was open says so without an error', async () => {
    const events = (await sample()).filter((event) => 'position' in event);
    const { length } = events;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: length }), fc.integer({ min: 0, max: length }), async (a, b) => {
        const part = events.slice(Math.min(a, b), Math.max(a, b));
        const spans = spansOf(part);
        expect(await tracesOf(part)).toHaveLength(spans.length);
        const opened = part.filter(({ type }) => type === 'turn.opened').length;
        expect(spans.filter(({ name }) => name === 'turn')).toHaveLength(opened);
        for (const { startedAt, endedAt, attributes, error } of spans) {
          expect(endedAt).toBeGreaterThanOrEqual(startedAt);
          const open = attributes['onward.unfinished'] === true;
          const outcome = attributes['onward.outcome'] ?? attributes['onward.tool.outcome'];
          expect(open ? [error, outcome] : [typeof outcome]).toEqual(open ? [undefined, undefined] : ['string']);
        }
        const ids = new Set(spans.map(({ id }) => id));
        for (const { parent, links } of spans)
          for (const id of [...(parent === undefined ? [] : [parent]), ...links.map(({ to }) => to)])
            expect(ids).toContain(id);
      }),
      { numRuns: 40 },
    );
  });

  test('show what was open when they ended', async () => {
    const events = await sample();
    const cut = events.slice(0, 1 + events.findIndex(({ type }) => type === 'call.started'));
    const spans = spansOf(cut).filter(({ attributes }) => attributes['onward.unfinished'] === true);
    expect(spans.map(({ name }) => name)).toEqual(['invoke_agent', 'turn', 'execute_tool send']);
  });

  test('show no call of an answer that was not complete', async () => {
    const events = await sample();
    const cut = events.slice(
      0,
      events.findIndex(({ type }) => type === 'answer.completed'),
    );
    expect(cut.at(-1)).toMatchObject({ type: 'block.closed', data: { part: { type: 'call' } } });
    expect(spansOf(cut).filter(({ name }) => name.startsWith('execute_tool'))).toEqual([]);
  });

  test('close all spans when reading them fails, and the failure comes out', async () => {
    const events = await sample();
    const cut = events.slice(0, 1 + events.findIndex(({ type }) => type === 'step.opened'));
    async function* broken(): AsyncGenerator<AgentEvent> {
      yield* oneByOne(cut);
      throw new Error('The journal is gone.');
    }
    const { tracer, spans } = createTraces();
    await expect(traceSession(broken(), tracer)).rejects.toThrow('The journal is gone.');
    expect(
      spans()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['chat large-1', 'invoke_agent', 'turn']);
    for (const { status, attributes } of spans()) {
      expect(status).toEqual({ code: SpanStatusCode.UNSET });
      expect(attributes['onward.unfinished']).toBe(true);
    }
  });
});

describe('spans as values', () => {
  test('are the spans that a tracer is told of', async () => {
    const events = spread(await sample(), 1_000_000_000_000);
    const spans = spansOf(events);
    expect(spans).toHaveLength(10);
    expect(spans.map(described).toSorted()).toEqual((await tracesOf(events)).map(exported).toSorted());
  });

  test('are the same whether the session is read again or followed', async () => {
    const events = await sample();
    expect(spansOf(events.filter((event) => 'position' in event))).toEqual(spansOf(events));
  });

  test('of a second prompt stand beside those of the first', async () => {
    const rig = await startRig({ model: createScriptedModel([down, 'one', 'two']), plugins: [llmRetry()] });
    await rig.settle(rig.agent.followup('First.').ended);
    await rig.settle(rig.agent.followup('Second.').ended);
    const top = spansOf(await stored(rig)).filter(({ parent }) => parent === undefined);
    expect(top.map(({ id, attributes }) => [id, attributes['onward.attempts']])).toEqual([
      ['prompt 1', 2],
      ['prompt 3', 1],
    ]);
  });

  test('keep the numbers of attempts for whoever begins to read in the middle of a prompt', async () => {
    const events = await sample();
    const from = events.findIndex((event) => event.type === 'turn.opened' && event.data.turn === 2);
    const [, turn] = spansOf(events.slice(from));
    expect(turn).toMatchObject({ name: 'turn', attributes: { 'onward.attempt': 2, 'onward.retry_of': 1 }, links: [] });
  });

  test('never end before they begin, though the clock was set back', async () => {
    const events = (await sample()).map((event, nth) => ('at' in event ? { ...event, at: 1_000_000 - nth } : event));
    for (const { startedAt, endedAt } of spansOf(events)) expect(endedAt).toBeGreaterThanOrEqual(startedAt);
  });
});

describe('a real tracer', () => {
  test('has the times of events from long before this process, and of the first day of all', async () => {
    for (const first of [Date.UTC(2001, 1, 3), 5]) {
      const events = spread(await sample(), first);
      const starts = (await tracesOf(events)).map(({ startTime }) => msOf(startTime));
      expect(starts).toEqual(spansOf(events).map(({ startedAt }) => startedAt));
    }
  });

  test('hangs the prompt below the span that was active', async () => {
    context.setGlobalContextManager(new StackContextManager().enable());
    onTestFinished(() => context.disable());
    const events = await sample();
    const { tracer, spans } = createTraces();
    const around = tracer.startSpan('job');
    await context.with(
      trace.setSpan(context.active(), around),
      async () => await traceSession(oneByOne(events), tracer),
    );
    const prompt = only(spans(), ({ name }) => name === 'invoke_agent');
    expect(prompt.parentSpanContext?.spanId).toBe(around.spanContext().spanId);
    expect(at(spans(), 1, 1).spanContext().traceId).toBe(around.spanContext().traceId);
  });

  test('is told the end of a failed prompt when the agent rests, not only with the next one', async () => {
    const rig = await startRig({ model: createScriptedModel(() => down), plugins: [] });
    const { tracer, spans } = createTraces();
    const stop = new AbortController();
    const tracing = traceSession(rig.agent.events({ signal: stop.signal }), tracer);
    await rig.settle(rig.agent.followup('Go.').ended);
    await until(() => spans().length === 3, 'the spans have ended');
    expect(only(spans(), ({ name }) => name === 'invoke_agent').attributes['onward.outcome']).toBe('failed');
    stop.abort();
    await tracing;
  });
});
