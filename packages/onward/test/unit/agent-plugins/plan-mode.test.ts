import { describe, expect, it } from 'vitest';
import type { CallDecision, RequestDraft } from '../../../src/agent/plugin.ts';
import { planMode, type PlanMode, type PlanModeOptions } from '../../../src/agent/plugins/plan-mode/index.ts';
import type { CallOutcome, SessionEvent } from '../../../src/agent/session-events.ts';
import { createFakeSession, type FakeSession } from './fake-host.ts';

const signal = new AbortController().signal;
const at = { turn: 1, step: 1, chain: 1, signal };
const trigger = { kind: 'prompt', id: 'p' } as const;

function open(options: PlanModeOptions = {}, events?: readonly SessionEvent[]): [FakeSession, PlanMode] {
  const session = createFakeSession(events === undefined ? {} : { events });
  const plan = planMode(options);
  session.load(plan);
  return [session, plan];
}

async function call(session: FakeSession, tool: string, effect: boolean): Promise<CallDecision> {
  const payload = { ...at, call: { id: 'c', tool, input: {}, effect } };
  return await session.run('agent/tool-call', payload, () => ({ kind: 'allow' }));
}

async function request(session: FakeSession): Promise<RequestDraft> {
  const draft: RequestDraft = {
    model: { id: 'm', stream: () => [] as never },
    system: 'Be brief.',
    tools: [{ name: 'write', description: '', input: {} }],
    settings: {},
  };
  return await session.run('agent/request', { ...at, draft }, () => draft);
}

async function preStep(session: FakeSession): Promise<void> {
  await session.run('agent/pre-step', { ...at, trigger }, () => undefined);
}

/** The model calls `propose_plan`, and a question is opened about it. */
function propose(session: FakeSession, plan: string, id = 'c1'): void {
  session.emit('step.opened', { turn: 1, step: 1, model: 'm', messages: 1, generation: 0 });
  const part = { type: 'call', id, tool: 'propose_plan', input: { plan } } as const;
  session.emit('block.closed', { turn: 1, step: 1, block: 0, part });
  session.emit('call.waiting', { turn: 1, step: 1, id, question: 'q1' });
}

function finish(session: FakeSession, outcome: CallOutcome, id = 'c1'): void {
  session.emit('call.finished', { turn: 1, step: 1, id, outcome });
}

describe('plan mode', () => {
  it('refuses calls with effects while planning, says what to do instead, and lets the others through', async () => {
    const [session] = open();
    expect(await call(session, 'write', true)).toEqual({
      kind: 'deny',
      because: expect.stringContaining('call propose_plan') as string,
    });
    expect(await call(session, 'read', false)).toEqual({ kind: 'allow' });
  });

  it('does not ask listeners behind it about a call that it refuses', async () => {
    const [session] = open();
    session.load({
      name: 'yes-man',
      setup: (host) => void host.on('agent/tool-call', () => ({ kind: 'allow' })),
    });
    expect((await call(session, 'write', true)).kind).toBe('deny');
    expect((await call(session, 'propose_plan', false)).kind).toBe('ask');
  });

  it('adds its instructions to the system prompt while planning and never touches the tools', async () => {
    const [session, plan] = open({ instructions: 'Only plan.' });
    expect(await request(session)).toMatchObject({ system: 'Be brief.\n\nOnly plan.', tools: [{ name: 'write' }] });
    await plan.leave();
    expect(await request(session)).toMatchObject({ system: 'Be brief.', tools: [{ name: 'write' }] });
  });

  it('keeps its instructions when a listener behind it replaces the system prompt', async () => {
    const [session] = open({ instructions: 'Only plan.' });
    session.load({
      name: 'other',
      setup: (host) =>
        void host.on('agent/request', async (_, next) => Object.assign({ ...(await next()) }, { system: 'New.' })),
    });
    expect((await request(session)).system).toBe('New.\n\nOnly plan.');
  });

  it('opens a question about a proposed plan, and acts from the moment on at which its answer is used up', async () => {
    const [session, plan] = open();
    expect(await call(session, 'propose_plan', false)).toMatchObject({ kind: 'ask', policyVersion: 'plan-mode/1' });
    propose(session, 'First this, then that.');
    expect(plan.proposal()).toMatchObject({ text: 'First this, then that.', state: 'open', question: 'q1' });
    expect((await call(session, 'write', true)).kind).toBe('deny');
    session.emit('call.started', { turn: 1, step: 1, id: 'c1' });
    expect([plan.mode(), plan.proposal()?.state]).toEqual(['acting', 'approved']);
    expect((await call(session, 'write', true)).kind).toBe('allow');
    await preStep(session);
    // The result of the call has told the model.
    expect(session.sent).toEqual([]);
  });

  it('goes on planning after a rejection, and keeps what was said', () => {
    const [session, plan] = open();
    propose(session, 'Delete it all.');
    finish(session, { ok: false, code: 'denied', message: 'Denied by ann: too much' });
    expect(plan.mode()).toBe('planning');
    expect(plan.proposal()).toMatchObject({ state: 'rejected', note: 'Denied by ann: too much' });
  });

  it('takes a plan that was cancelled for withdrawn, not for rejected', () => {
    const [session, plan] = open();
    propose(session, 'Slowly.');
    session.emit('step.closed', { turn: 1, step: 1, outcome: 'aborted' });
    expect([plan.mode(), plan.proposal()?.state]).toEqual(['planning', 'withdrawn']);
  });

  it('denies a second proposal after the first was approved, which stays approved', async () => {
    const [session, plan] = open();
    propose(session, 'One.');
    session.emit('block.closed', {
      turn: 1,
      step: 1,
      block: 1,
      part: { type: 'call', id: 'c2', tool: 'propose_plan', input: { plan: 'Two.' } },
    });
    session.emit('call.started', { turn: 1, step: 1, id: 'c1' });
    finish(session, { ok: true, output: 'approved' });
    expect((await call(session, 'propose_plan', false)).kind).toBe('deny');
    finish(session, { ok: false, code: 'denied', message: 'Denied: off' }, 'c2');
    expect([plan.mode(), plan.proposal()?.state, plan.proposal()?.text]).toEqual(['acting', 'approved', 'One.']);
  });

  it('takes neither the start nor the end of another call for the decision about a plan', () => {
    const [session, plan] = open();
    propose(session, 'One.');
    session.emit('call.started', { turn: 1, step: 1, id: 'other' });
    finish(session, { ok: true, output: '' }, 'other');
    expect([plan.mode(), plan.proposal()?.state]).toEqual(['planning', 'open']);
  });

  it('tells the model of each flip once, at the next step', async () => {
    const [session, plan] = open({ start: 'acting' });
    await plan.enter();
    await plan.enter();
    expect(session.records('plan-mode')).toEqual([{ by: 'user' }]);
    await preStep(session);
    await preStep(session);
    expect(session.sent.map(({ verb, text }) => [verb, text.includes('switched on')])).toEqual([['inject', true]]);
    await plan.leave('ann');
    await preStep(session);
    expect(session.sent).toHaveLength(2);
    expect(session.sent[1]?.text).toContain('switched off');
  });

  it('tells nothing of two flips that cancel each other out', async () => {
    const [session, plan] = open({ start: 'acting' });
    await plan.enter();
    await plan.leave();
    await preStep(session);
    expect(session.sent).toEqual([]);
  });

  it('has the mode that the log says after a restart, whatever its options say, and tells what it had not told', async () => {
    const [before, plan] = open({ start: 'acting' });
    await plan.enter();
    const [after, again] = open({ start: 'acting' }, before.events);
    expect(again.mode()).toBe('planning');
    await preStep(after);
    expect(after.sent).toHaveLength(1);
  });

  it('does not flip when the record cannot be stored', async () => {
    const [session, plan] = open({ start: 'acting' });
    session.recordFault = new Error('disk full');
    await expect(plan.enter()).rejects.toThrow('disk full');
    expect(plan.mode()).toBe('acting');
  });

  it.each([
    [{ start: 'plan' }, 'planMode.start'],
    [{ instructions: ' ' }, 'planMode.instructions'],
    [{ mayAnswer: 'ann' }, 'planMode.mayAnswer'],
    [{ mayAnswer: [''] }, 'planMode.mayAnswer'],
    [{ strat: 'planning' }, 'planMode.strat'],
    [null, 'planMode'],
  ])('refuses %j at %s', (options, place) => {
    expect(() => planMode(options as never)).toThrow(expect.objectContaining({ code: 'config/bad-value', place }));
  });

  it('refuses a second agent, and a flip without one', async () => {
    const [, plan] = open();
    expect(() => createFakeSession().load(plan)).toThrow(expect.objectContaining({ code: 'agent/plugin-in-use' }));
    await expect(planMode().enter()).rejects.toThrow(expect.objectContaining({ code: 'agent/plugin-not-loaded' }));
  });

  it('holds the input of propose_plan to a text', () => {
    const validate = planMode().tools[0]?.input['~standard'].validate;
    expect(validate?.({ plan: 'x', noise: 1 })).toEqual({ value: { plan: 'x' } });
    for (const input of [undefined, null, 'x', {}, { plan: '' }, { plan: 7 }])
      expect(validate?.(input)).toHaveProperty('issues');
  });

  it('refuses a log with a record of plan mode that it does not know', () => {
    const [session] = open();
    const data = { turn: 0, step: 0, plugin: 'plan-mode', kind: 'mode.unheard-of', data: {} };
    expect(() => session.emit('plugin.recorded', data)).toThrow(expect.objectContaining({ code: 'journal/bad-event' }));
  });
});
