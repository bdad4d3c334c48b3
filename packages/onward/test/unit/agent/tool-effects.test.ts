import { afterEach, describe, expect, test } from 'vitest';
import type { Lookup } from '../../../src/effects/effect.ts';
import { answerQuestion, EffectRejected, listQuestions } from '../../../src/effects/index.ts';
import type { Json } from '../../../src/kernel/json.ts';
import type { AnyTool, ToolContext } from '../../../src/agent/tool.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { createFakeClock, createGate } from '../../../src/testing/index.ts';
import { faultyJournal, stores } from './faulty-journal.ts';
import { endTestAgents, outline, overloaded, rounds, startTestAgent, testTool, until } from './start-test-agent.ts';

afterEach(endTestAgents);

/** What a service has accepted, by key. Without deduping each request is an acceptance. */
function service(options: { readonly dedupes?: boolean } = {}) {
  const accepted: string[] = [];
  const accept = (key: string | undefined): Json => {
    const name = key ?? '';
    if (options.dedupes !== true || !accepted.includes(name)) accepted.push(name);
    return { receipt: accepted.indexOf(name) + 1 };
  };
  const lookup = async (key: string): Promise<Lookup> =>
    await Promise.resolve(
      accepted.includes(key)
        ? { kind: 'accepted', receipt: { receipt: accepted.indexOf(key) + 1 } }
        : { kind: 'absent' },
    );
  return { accepted, accept, lookup };
}

type Run = (input: Json, context: ToolContext) => Promise<Json> | Json;

const send = (run: Run, more: Partial<AnyTool> = {}): AnyTool => testTool('send', run, { effect: {}, ...more });
const ask = { call: 'send', input: { to: 'a' } };

describe('a tool with a declared effect', () => {
  test('R87 that fails after its effect is not called again by anybody: a person is asked', async () => {
    const { accepted, accept } = service();
    const tool = send((_, { key }) => {
      accept(key);
      throw new Error('the connection was lost');
    });
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    const settled = await asked.settled;
    expect(settled).toMatchObject({ kind: 'waiting', question: { subject: 'effect' } });
    expect([accepted.length, rig.agent.status]).toEqual([1, 'waiting']);
    if (settled.kind !== 'waiting') return;
    await answerQuestion(
      rig.journal,
      settled.question.id,
      { choice: 'happened', by: 'me', value: { n: 1 } },
      rig.clock,
    );
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: true, output: { n: 1 } } }]);
    expect(accepted).toHaveLength(1);
  });

  test('R87 whose service certainly refused says so, and nobody is asked', async () => {
    const tool = send(() => {
      throw new EffectRejected({ message: 'No such address.' });
    });
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    await rig.ask('go');
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'rejected' } }]);
    expect(await listQuestions(rig.journal)).toEqual([]);
  });

  test.each([
    { what: 'that can be asked', declared: (s: ReturnType<typeof service>) => ({ lookup: s.lookup }) },
    { what: 'that dedupes on the key', declared: () => ({ keyLifetimeMs: 3_600_000 }) },
  ])('R89 whose answer was lost has the receipt of the first call, from a service $what', async ({ declared }) => {
    const remote = service({ dedupes: true });
    let calls = 0;
    const tool = send(
      (_, { key }) => {
        const receipt = remote.accept(key);
        calls += 1;
        if (calls === 1) throw new Error('reset');
        return receipt;
      },
      { effect: declared(remote) },
    );
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: true, output: { receipt: 1 } } }]);
    expect(remote.accepted).toHaveLength(1);
  });

  test('R89 R98 that is called again with a new id and the same arguments after a crash has the first receipt', async () => {
    const remote = service();
    const clock = createFakeClock();
    const real = createMemoryJournal({ clock });
    const journal = faultyJournal(real);
    const keys: (string | undefined)[] = [];
    const tool = (dies: boolean): AnyTool =>
      send(
        (_, { key }) => {
          keys.push(key);
          const receipt = remote.accept(key);
          if (dies) journal.kill();
          return receipt;
        },
        { effect: { lookup: remote.lookup } },
      );
    const first = await startTestAgent({ clock, journal, script: [[{ ...ask, id: 'one' }]], tools: [tool(true)] });
    first.agent.followup('go');
    await until(() => remote.accepted.length === 1);
    await rounds();
    const second = await startTestAgent({
      clock,
      journal: real,
      reopen: true,
      script: [[{ ...ask, id: 'two' }], 'done'],
      tools: [tool(false)],
    });
    const known = (await second.stored()).flatMap((event) => (event.type === 'call.finished' ? [event.data] : []));
    expect(known).toMatchObject([{ id: 'one', outcome: { ok: false, code: 'outcome-unknown' } }]);
    expect(await second.ask('go on')).toMatchObject({ kind: 'done' });
    expect(second.data('call.finished').at(-1)).toMatchObject({
      id: 'two',
      outcome: { ok: true, output: { receipt: 1 }, repeated: true },
    });
    expect([remote.accepted.length, keys.length]).toEqual([1, 1]);
    expect(second.model.refused).toEqual([]);
  });

  test('R98 that is called twice with the same arguments, its receipt having been seen, is called twice, under two keys', async () => {
    const remote = service({ dedupes: true });
    const tool = send((_, { key }) => remote.accept(key));
    const rig = await startTestAgent({ script: [[ask], [ask], 'done'], tools: [tool] });
    await rig.ask('go');
    expect(new Set(remote.accepted).size).toBe(2);
  });

  test('R93 that is too late is looked up, and not called again: what the service has is its result', async () => {
    const remote = service();
    let lookups = 0;
    const tool = send(
      async (_, { key, signal }) => {
        remote.accept(key);
        await rig.clock.sleep(3_600_000, signal);
        throw new Error('stopped');
      },
      {
        deadlineMs: 1_000,
        effect: {
          lookup: async (key: string) => {
            lookups += 1;
            return await remote.lookup(key);
          },
        },
      },
    );
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    await until(() => remote.accepted.length === 1);
    await rig.clock.advance(999);
    expect(lookups).toBe(0);
    await rig.clock.advance(1);
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: true, output: { receipt: 1 } } }]);
    expect([lookups, remote.accepted.length]).toEqual([1, 1]);
  });

  test('R93 that is too late, and of which the service knows nothing for certain, waits for a person', async () => {
    let calls = 0;
    const tool = send(
      async (_, { signal }) => {
        calls += 1;
        await rig.clock.sleep(3_600_000, signal);
        throw new Error('stopped');
      },
      { deadlineMs: 1_000, effect: { lookup: () => ({ kind: 'absent' }) as never } },
    );
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    await until(() => calls === 1);
    await rig.clock.advance(1_000);
    const settled = await asked.settled;
    expect(settled).toMatchObject({ kind: 'waiting', question: { subject: 'effect' } });
    expect(calls).toBe(1);
    if (settled.kind !== 'waiting') return;
    // The person takes longer than any deadline; the answer counts nevertheless.
    await rig.clock.advance(7_200_000);
    await answerQuestion(rig.journal, settled.question.id, { choice: 'happened', by: 'me' }, rig.clock);
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: true } }]);
    expect(calls).toBe(1);
  });

  test('R93 that is too late and certainly did not happen is a time-out that says so', async () => {
    const tool = send(
      async (_, { signal }) => {
        await rig.clock.sleep(3_600_000, signal);
        throw new Error('stopped');
      },
      { deadlineMs: 1_000, effect: { lookup: () => ({ kind: 'absent' }) as never, settleMs: 0 } },
    );
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    await until(() => rig.clock.pending().length > 1);
    await rounds();
    await rig.clock.advance(1_000);
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'timeout' } }]);
  });

  test('that ignores its deadline is left behind with an unknown outcome when a person cannot settle it either', async () => {
    const gate = createGate();
    let calls = 0;
    const tool = send(
      async () => {
        calls += 1;
        await gate.wait();
        return null;
      },
      { deadlineMs: 1_000 },
    );
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    const asked = rig.agent.followup('go');
    await gate.entered;
    await rig.clock.advance(1_000);
    await rounds();
    expect(rig.agent.status).toBe('running');
    await rig.clock.advance(2_000);
    const settled = await asked.settled;
    if (settled.kind !== 'waiting') throw new Error(settled.kind);
    await answerQuestion(rig.journal, settled.question.id, { choice: 'did-not-happen', by: 'me' }, rig.clock);
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'outcome-unknown' } }]);
    expect(calls).toBe(1);
    gate.open();
  });

  test('that is cancelled while a person is asked has an unknown outcome, and the question is no longer open', async () => {
    const tool = send(() => {
      throw new Error('reset');
    });
    const rig = await startTestAgent({ script: [[ask]], tools: [tool] });
    const asked = rig.agent.followup('go');
    await asked.settled;
    rig.agent.cancel();
    expect(await asked.ended).toEqual({ kind: 'cancelled', cause: 'user' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'outcome-unknown' } }]);
    expect(await listQuestions(rig.journal, { state: 'open' })).toEqual([]);
  });

  test.each<{ readonly what: string; readonly effect: unknown }>([
    {
      what: 'an identity that throws',
      effect: {
        identity: () => {
          throw new Error('no identity');
        },
      },
    },
    { what: 'an identity that is not JSON', effect: { identity: () => 1n } },
    { what: 'a resource that is no text', effect: { resource: () => 7 } },
  ])('with $what refuses the call before anything is done, and the turn goes on', async ({ effect }) => {
    let calls = 0;
    const tool = send(() => (calls += 1), { effect: effect as never });
    const rig = await startTestAgent({ script: [[ask], 'done'], tools: [tool] });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'refused' } }]);
    expect([calls, rig.data('call.started').length]).toEqual([0, 0]);
  });
});

describe('a tool without a ledger', () => {
  test('R85 that never returns ends at its deadline, hears of it, and its outcome is not called a failure', async () => {
    let heard = false;
    const stuck = testTool(
      'stuck',
      async (_, { signal }) => {
        signal.addEventListener('abort', () => {
          heard = true;
        });
        return await new Promise<never>(() => undefined);
      },
      { effect: 'untracked', deadlineMs: 5_000 },
    );
    const rig = await startTestAgent({ script: [[{ call: 'stuck' }], 'done'], tools: [stuck] });
    const asked = rig.agent.followup('go');
    await until(() => rig.data('call.started').length === 1);
    await rounds();
    await rig.clock.advance(5_000);
    expect(heard).toBe(true);
    await rig.clock.advance(2_000);
    expect(await asked.ended).toMatchObject({ kind: 'done' });
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'timeout' } }]);
    expect(JSON.stringify(rig.data('call.finished'))).toContain('verify before doing it again');
    expect(rig.clock.pending().length).toBeLessThanOrEqual(1);
  });

  test('R63 R87 that throws after its effect has an error result that warns of it, is not run again, and the conversation goes on', async () => {
    let runs = 0;
    const mail = testTool(
      'mail',
      () => {
        runs += 1;
        throw new Error('after the effect');
      },
      { effect: 'untracked' },
    );
    const rig = await startTestAgent({
      script: [[{ call: 'mail' }], [{ fail: overloaded }], 'done', 'more'],
      tools: [mail],
      on: { 'agent/request-error': () => ({ kind: 'retry' }) },
    });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done', text: 'done' });
    expect(runs).toBe(1);
    expect(outline(rig.agent.history())[2]).toMatch(/^tool: result mail: \[tool-failed\] after the effect.*verify/);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done', text: 'more' });
    expect(rig.model.refused).toEqual([]);
  });

  test('R100 whose result could not be stored is not run again: its result is stored with the end of the turn', async () => {
    const clock = createFakeClock();
    let faults = 0;
    const journal = faultyJournal(createMemoryJournal({ clock }), (batch) => {
      if (stores(batch, 'call.finished') && ++faults === 1) throw new Error('No space left');
    });
    let runs = 0;
    const tool = testTool('charge', () => `receipt ${(runs += 1)}`, { effect: 'untracked' });
    const rig = await startTestAgent({ clock, journal, script: [[{ call: 'charge' }], 'done'], tools: [tool] });
    expect(await rig.ask('go')).toMatchObject({ kind: 'failed', failure: { message: 'No space left' } });
    const stored = (await rig.stored()).flatMap((event) => (event.type === 'call.finished' ? [event.data] : []));
    expect(stored).toMatchObject([{ outcome: { ok: true, output: 'receipt 1' } }]);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
    expect(outline(rig.model.requests.at(-1)?.messages ?? [])).toContain('tool: result charge: receipt 1');
    expect([runs, faults]).toEqual([1, 2]);
  });
});
