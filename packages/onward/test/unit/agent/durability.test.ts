import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { sessionStream } from '../../../src/agent/session-events.ts';
import type { AnyTool } from '../../../src/agent/tool.ts';
import type { Journal } from '../../../src/kernel/journal.ts';
import { createMemoryJournal } from '../../../src/stores/memory/index.ts';
import { openSqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { createFakeClock, createFixedRandom, createScriptedModel, testHash } from '../../../src/testing/index.ts';
import { quickHarness, withRawDatabase } from '../../fixtures/sqlite-harness.ts';
import { faultyJournal, vetoing } from './faulty-journal.ts';
import { endTestAgents, outline, rounds, startTestAgent, testTool, until } from './start-test-agent.ts';

afterEach(endTestAgents);

const writing = (act: () => string): AnyTool => testTool('write', act, { effect: 'untracked' });
const writer = writing(() => 'written');

describe('a barrier', () => {
  test('A131 given a process that dies as soon as the provider is asked, when reopened, then the whole request is on record', async () => {
    const clock = createFakeClock();
    const real = createMemoryJournal({ clock });
    const journal = faultyJournal(real);
    const model = createScriptedModel([
      () => {
        journal.kill();
        return [{ stall: true }];
      },
      'next',
    ]);
    const dead = await startTestAgent({ clock, journal, model, instructions: 'Be brief.', tools: [testTool('look')] });
    const { id } = dead.agent.followup('go');
    await until(() => model.requests.length === 1);
    const rig = await startTestAgent({ clock, journal: real, reopen: true, model, tools: [testTool('look')] });
    const types = (await rig.stored()).map(({ type }) => type);
    expect(types.slice(0, 6)).toEqual([
      'session.created',
      'message.accepted',
      'turn.opened',
      'input.committed',
      'step.opened',
      'header.set',
    ]);
    expect((await rig.stored())[5]).toMatchObject({ data: { system: 'Be brief.', tools: [{ name: 'look' }] } });
    expect(await rig.agent.handle(id)?.ended).toEqual({ kind: 'interrupted', turn: 1 });
    expect(outline(rig.agent.history())).toEqual(['user: go']);
  });

  test('A131 given a process that dies inside a body, when reopened, then the call is on record with an unknown outcome', async () => {
    const clock = createFakeClock();
    const real = createMemoryJournal({ clock });
    const journal = faultyJournal(real);
    const dead = await startTestAgent({
      clock,
      journal,
      script: [[{ call: 'write', input: { a: 1 } }]],
      tools: [
        writing(() => {
          journal.kill();
          return 'written';
        }),
      ],
    });
    dead.agent.followup('go');
    await until(() => dead.data('call.started').length === 1);
    await rounds();
    const rig = await startTestAgent({
      clock,
      journal: real,
      reopen: true,
      script: ['next'],
      tools: [writing(() => '')],
    });
    const stored = await rig.stored();
    expect(stored.filter(({ type }) => type === 'call.started')).toHaveLength(1);
    expect(rig.data('call.finished')).toMatchObject([{ outcome: { ok: false, code: 'outcome-unknown' } }]);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
    expect(rig.model.refused).toEqual([]);
  });

  test('A132 given a barrier that fails, when it was before a request, then the provider hears nothing', async () => {
    const clock = createFakeClock();
    const journal = vetoing(createMemoryJournal({ clock }), 'step.opened', 1);
    const rig = await startTestAgent({ clock, journal });
    expect(await rig.ask('go')).toMatchObject({
      kind: 'failed',
      failure: { message: 'No space left for step.opened' },
    });
    expect(rig.model.requests).toEqual([]);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
  });

  test.each(['untracked', {}] as const)(
    'A132 given a barrier that fails, when it was before a body of effect %j, then that does not run, and the call is known not to have begun',
    async (effect) => {
      const clock = createFakeClock();
      const journal = vetoing(createMemoryJournal({ clock }), 'call.started', 1);
      let runs = 0;
      const tool = testTool('write', () => (runs += 1), { effect });
      const rig = await startTestAgent({ clock, journal, script: [[{ call: 'write' }], 'next'], tools: [tool] });
      expect(await rig.ask('go')).toMatchObject({ kind: 'failed' });
      expect(runs).toBe(0);
      const stored = (await rig.stored()).flatMap((event) => (event.type === 'call.finished' ? [event.data] : []));
      // The answer went with the barrier, or is there with a result for its call.
      for (const { outcome } of stored) expect(outcome).toMatchObject({ ok: false, code: 'not-started' });
      expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
      expect(rig.model.refused).toEqual([]);
      expect(runs).toBe(0);
    },
  );

  test('A132 given an intent that cannot be stored, when an effect is due, then its service hears nothing', async () => {
    const clock = createFakeClock();
    const journal = vetoing(createMemoryJournal({ clock }), 'effect.intended', 1);
    let runs = 0;
    const tool = testTool('write', () => (runs += 1), { effect: {} });
    const rig = await startTestAgent({ clock, journal, script: [[{ call: 'write' }], 'next'], tools: [tool] });
    expect(await rig.ask('go')).toMatchObject({ kind: 'failed' });
    expect(runs).toBe(0);
    expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
    expect(rig.model.refused).toEqual([]);
  });
});

describe('an append that fails', () => {
  test.each(['message.accepted', 'step.opened', 'answer.completed', 'call.started', 'call.finished', 'turn.closed'])(
    'A134 with %s leaves nothing of itself and no gap, and the next prompt goes on',
    async (type) => {
      const clock = createFakeClock();
      const journal = vetoing(createMemoryJournal({ clock }), type, 1);
      const rig = await startTestAgent({
        clock,
        journal,
        script: (request) => (request.messages.length === 1 ? [{ call: 'write' }] : 'done'),
        tools: [testTool('write', () => 'ok', { effect: 'untracked' })],
      });
      await rig.ask('go');
      expect(await rig.ask('on')).toMatchObject({ kind: 'done' });
      const stored = await rig.stored();
      expect(stored.map(({ position }) => position)).toEqual(stored.map((_, index) => index + 1));
      const opened = stored.filter((event) => event.type === 'turn.opened').length;
      expect(stored.filter((event) => event.type === 'turn.closed')).toHaveLength(opened);
      const again = await startTestAgent({ clock, journal, reopen: true, series: 'c' });
      expect(outline(again.agent.history())).toEqual(outline(rig.agent.history()));
      expect(rig.model.refused).toEqual([]);
    },
  );
});

/** The journal of a session of two turns, changed past the store. */
async function damaged(sql: string): Promise<Journal> {
  const harness = quickHarness();
  onTestFinished(() => harness.remove());
  const clock = createFakeClock();
  const ports = { clock, random: createFixedRandom(), hash: testHash };
  const journal = await openSqliteJournal({ path: harness.path, ...ports });
  const rig = await startTestAgent({ clock, journal });
  await rig.ask('one');
  await rig.ask('two');
  await rig.agent[Symbol.asyncDispose]();
  await journal.close();
  withRawDatabase(harness.path, (db) => {
    const { changes } = db.prepare(sql).run(sessionStream('s'));
    expect(changes).toBe(1);
  });
  return await openSqliteJournal({ path: harness.path, ...ports });
}

describe('a damaged log', () => {
  test('A133 whose file was torn anywhere in its last turn loads without what was torn, and goes on', async () => {
    const harness = quickHarness();
    onTestFinished(() => harness.remove());
    const clock = createFakeClock();
    const ports = { clock, random: createFixedRandom(), hash: testHash };
    const journal = await openSqliteJournal({ path: harness.path, ...ports });
    const rig = await startTestAgent({ clock, journal, script: ['one', [{ call: 'write' }], 'two'], tools: [writer] });
    await rig.ask('a');
    const before = statSync(`${harness.path}-wal`).size;
    await rig.ask('b');
    // Copied by another process, since opening the files here would drop SQLite's locks.
    const copy = join(harness.folder, 'copy.db');
    execFileSync('cp', [harness.path, copy]);
    execFileSync('cp', [`${harness.path}-wal`, `${copy}-log`]);
    const bytes = readFileSync(`${copy}-log`);
    const lengths = new Set<number>();
    for (let cut = before; cut <= bytes.length; cut += Math.ceil((bytes.length - before) / 40)) {
      const torn = join(harness.folder, `torn-${cut}.db`);
      copyFileSync(copy, torn);
      writeFileSync(`${torn}-wal`, bytes.subarray(0, cut));
      const opened = await openSqliteJournal({ path: torn, ...ports });
      const found = await startTestAgent({ clock, journal: opened, reopen: true, tools: [writer] });
      lengths.add((await found.stored()).length);
      expect(outline(found.agent.history()).slice(0, 2)).toEqual(['user: a', 'assistant: one']);
      expect(await found.ask('on')).toMatchObject({ kind: 'done' });
      expect(found.model.refused).toEqual([]);
      await found.agent[Symbol.asyncDispose]();
      await opened.close();
    }
    // Each append of the turn was lost once.
    expect(lengths.size).toBeGreaterThanOrEqual(3);
    await rig.agent[Symbol.asyncDispose]();
    await journal.close();
  });

  const place = 'place = (select id from stream where name = ?) * (1 << 26)';

  test.each([
    { what: 'a changed event', sql: `update event set data = replace(data, 'o', '0') where ${place} + 2` },
    { what: 'a missing event', sql: `delete from event where ${place} + 5` },
  ])('A133 with $what before a later close is refused with the place', async ({ sql }) => {
    const journal = await damaged(sql);
    await expect(startTestAgent({ journal, reopen: true })).rejects.toMatchObject({
      code: 'journal/damaged',
      place: expect.stringContaining('session:s') as string,
    });
    await journal.close();
  });
});

describe('a stored session', () => {
  test('R64 has each result that a reader was shown', async () => {
    const clock = createFakeClock();
    const real = createMemoryJournal({ clock });
    const journal = faultyJournal(real);
    let shown = false;
    const rig = await startTestAgent({
      clock,
      journal,
      script: [[{ call: 'write' }], [{ stall: true }]],
      tools: [testTool('write', () => 'written', { effect: 'untracked' })],
    });
    const asked = rig.agent.followup('go');
    for await (const event of asked.events())
      if (event.type === 'call.finished') {
        shown = true;
        journal.kill();
        break;
      }
    expect(shown).toBe(true);
    const after = await startTestAgent({ clock, journal: real, reopen: true });
    expect(outline(after.agent.history()).at(-1)).toBe('tool: result write: written');
  });

  test('R59 keeps a call that a crash cut in the middle of its history paired for ever after', async () => {
    const clock = createFakeClock();
    const real = createMemoryJournal({ clock });
    const journal = faultyJournal(real);
    const dead = await startTestAgent({
      clock,
      journal,
      script: ['hello', [{ call: 'write' }, { call: 'write', input: 2 }]],
      tools: [
        writing(() => {
          journal.kill();
          return '';
        }),
      ],
    });
    await dead.ask('hi');
    dead.agent.followup('go');
    await until(() => dead.data('call.started').length > 0);
    const rig = await startTestAgent({ clock, journal: real, reopen: true, tools: [writing(() => 'ok')] });
    for (let turn = 0; turn < 12; turn++)
      // oxlint-disable-next-line no-await-in-loop -- one turn after the other
      expect(await rig.ask(`turn ${turn}`)).toMatchObject({ kind: 'done' });
    const again = await startTestAgent({
      clock,
      journal: real,
      reopen: true,
      series: 'c',
      tools: [writing(() => 'ok')],
    });
    expect(await again.ask('more')).toMatchObject({ kind: 'done' });
    expect([...rig.model.refused, ...again.model.refused]).toEqual([]);
    expect(outline(again.agent.history())[4]).toMatch(
      /^tool: result write: \[outcome-unknown\].* \| result write: \[not-started\]/,
    );
  });
});

describe('what a model attached to its blocks', () => {
  const opaque = { signature: 'ErUBCkYI+/==\u0000\u2028é', n: [1, { deep: null }] };

  test('R61 comes back byte for byte through a retry and a reopened session, also with an empty text', async () => {
    const clock = createFakeClock();
    const journal = createMemoryJournal({ clock });
    const rig = await startTestAgent({
      clock,
      journal,
      script: [
        [
          { thinking: '', opaque },
          { thinking: 'hm', opaque },
          { text: 'so', opaque },
          { call: 'look', opaque },
        ],
        [{ fail: { message: 'Overloaded', status: 529 } }],
        'done',
      ],
      tools: [testTool('look')],
      on: { 'agent/request-error': () => ({ kind: 'retry' }) },
    });
    expect(await rig.ask('go')).toMatchObject({ kind: 'done' });
    await rig.agent[Symbol.asyncDispose]();
    const again = await startTestAgent({ clock, journal, reopen: true });
    await again.ask('on');
    const answers = [rig.model.requests[1], rig.model.requests[2], again.model.requests[0]].map(
      (request) => request?.messages[1]?.content,
    );
    for (const answer of answers)
      expect(JSON.stringify(answer)).toBe(
        JSON.stringify([
          { type: 'thinking', text: '', opaque },
          { type: 'thinking', text: 'hm', opaque },
          { type: 'text', text: 'so', opaque },
          { type: 'call', id: 'call-1', tool: 'look', input: {}, opaque },
        ]),
      );
  });

  test('R62 is left out of the requests to another model, and is there again for its own', async () => {
    const other = createScriptedModel(() => 'from the other', { id: 'scripted/other' });
    let useOther = false;
    const rig = await startTestAgent({
      script: [
        [
          { thinking: 'secret', opaque },
          { text: 'one', opaque },
        ],
        [{ thinking: 'only', opaque }],
        'four',
      ],
      on: {
        'agent/request': async (_, next) => {
          const draft = await next();
          return useOther ? { ...draft, model: other } : draft;
        },
      },
    });
    await rig.ask('a');
    await rig.ask('b');
    useOther = true;
    await rig.ask('c');
    expect(JSON.stringify(other.requests[0]?.messages)).not.toMatch(/secret|only|signature/);
    expect(outline(other.requests[0]?.messages ?? [])).toEqual([
      'user: a',
      'assistant: one',
      'user: b',
      'assistant: (thought)',
      'user: c',
    ]);
    useOther = false;
    await rig.ask('d');
    expect(rig.model.requests.at(-1)?.messages.slice(0, 2)).toEqual(rig.model.requests[1]?.messages.slice(0, 2));
    expect([...other.refused, ...rig.model.refused]).toEqual([]);
  });
});
