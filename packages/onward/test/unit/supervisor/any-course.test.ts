import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Failure } from '../../../src/kernel/failure.ts';
import { checkInvariants } from './support/invariants.ts';
import { accept, createRig, type Rig, type RigProcess } from './support/rig.ts';
import type { AgentScript, ScriptedAgent } from './support/scripted-agent.ts';

/** What one process of an agent does, as data. */
interface Course {
  readonly texts: number;
  readonly calls: readonly ('finished' | 'open')[];
  readonly end: 'success' | 'crash' | 'silence' | 'no-result' | Partial<Failure>;
  readonly knowsSession: boolean;
}

const course: fc.Arbitrary<Course> = fc.record({
  texts: fc.nat({ max: 3 }),
  calls: fc.array(fc.constantFrom('finished', 'open'), { maxLength: 2 }),
  knowsSession: fc.boolean(),
  end: fc.constantFrom<Course['end']>(
    'success',
    'crash',
    'silence',
    'no-result',
    { type: 'overloaded_error', status: 529 },
    { status: 429, retryAfterMs: 3_000 },
    { status: 401 },
    { type: 'invalid_request_error', status: 400 },
    { type: 'session_not_found' },
    { type: 'error_max_turns' },
    { message: 'nobody knows this' },
  ),
});

const plan = fc.record({
  preassignsId: fc.boolean(),
  keeps: fc.boolean(),
  courses: fc.array(course, { minLength: 1, maxLength: 6 }),
  /** After how many appends each process is killed; those after the last one live. */
  kills: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
});

const policy = {
  retry: { scheduleMs: [1_000, 2_000, 3_000], total: 8 },
  timeouts: { idleMs: 10_000, startupMs: 10_000, toolMs: 10_000 },
};

function scriptOf({ texts, calls, end, knowsSession }: Course): AgentScript {
  return async (agent) => {
    if (knowsSession)
      agent.session(
        agent.spec.launch.argv.at(-1) === 'agent' ? `own-${agent.pid}` : (agent.spec.launch.argv.at(-1) ?? ''),
      );
    for (let n = 0; n < texts; n++) agent.text(`${agent.pid}-${n}`, `text ${n} of ${agent.pid}`);
    for (const [n, how] of calls.entries()) {
      agent.say({ kind: 'call-started', callId: `${agent.pid}-c${n}`, tool: 'Bash', input: { step: n } });
      if (how === 'finished')
        agent.say({ kind: 'call-finished', callId: `${agent.pid}-c${n}`, ok: true, output: 'ok' });
    }
    await ends(agent, end);
  };
}

async function ends(agent: ScriptedAgent, end: Course['end']): Promise<void> {
  switch (end) {
    case 'success':
      return agent.answer('done');
    case 'crash':
      return agent.exit(null, 'SIGSEGV');
    case 'no-result':
      return agent.exit(0);
    case 'silence':
      return agent.stopRequested;
    default:
      return agent.fail(end);
  }
}

/** One process keeps the run going until it rests, is over, or dies at its append number `kill`. */
async function keepGoing(rig: Rig, process: RigProcess, id: string, kill: number | undefined): Promise<string> {
  const killed = Promise.withResolvers<string>();
  let appends = 0;
  process.journal.before = () => {
    appends += 1;
    if (appends !== kill) return;
    process.kill();
    killed.resolve('killed');
  };
  const { phase } = await rig.state(id);
  const goOn = async (): Promise<string> => {
    const { result } = phase.kind === 'paused' ? await process.resume(id) : process.attach(id);
    return (await result).status;
  };
  return rig.until(Promise.race([killed.promise, goOn()]), 300_000);
}

async function play(chosen: typeof plan extends fc.Arbitrary<infer T> ? T : never): Promise<{ rig: Rig; id: string }> {
  const { preassignsId, keeps, courses, kills } = chosen;
  const rig = createRig({ preassignsId, keeps, scripts: courses.map(scriptOf) });
  // Whatever comes after the chosen courses goes well, so that every run can come to an end.
  rig.machine.scripts.push(...Array<AgentScript>(60).fill((agent) => agent.answer('done')));
  rig.machine.beforeStart = () => {
    expect(rig.machine.alive(), 'no two agents live').toEqual([]);
  };
  const id = await accept(rig.own.deps, { policy });
  let state = '';
  for (let n = 0; n < 30 && !['done', 'failed', 'cancelled'].includes(state); n++)
    state = await keepGoing(rig, rig.process(100 + n), id, kills[n]);
  return { rig, id };
}

describe('whatever agents do and wherever onward dies', () => {
  test('a run comes to one end, in order, and nothing that was said is lost or told twice', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (chosen) => {
        const { rig, id } = await play(chosen);
        const events = await rig.events(id);
        checkInvariants(events);
        expect(rig.machine.scriptErrors).toEqual([]);
        expect(rig.machine.alive()).toEqual([]);
        const recorded = (await rig.data(id, 'message.committed')).map((data) => data['id']);
        const printed = rig.machine.agents.flatMap((agent) => printedBy(rig, agent));
        expect(recorded).toEqual(printed);
      }),
      { numRuns: 100 },
    );
  }, 60_000);

  test('the prompt is sent again only where the journal says why that is safe', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async (chosen) => {
        const { rig, id } = await play(chosen);
        const starts = await rig.data(id, 'attempt.started');
        const original = starts.filter((start) => start['mode'] === 'first' || start['mode'] === 'restart');
        const sent = rig.machine.agents.filter((agent) => agent.input[0] === 'do the task');
        expect(sent.length).toBeLessThanOrEqual(original.length);
        const acted = rig.machine.agents.findIndex((agent) => didSomething(rig, agent));
        const later = acted < 0 ? [] : rig.machine.agents.slice(acted + 1);
        expect(later.filter((agent) => agent.input[0] === 'do the task')).toEqual([]);
        expect(rig.machine.agents.length).toBeLessThanOrEqual(starts.length);
      }),
      { numRuns: 100 },
    );
  }, 60_000);
});

function linesOf(rig: Rig, agent: ScriptedAgent): readonly string[] {
  const spool = rig.machine.spools.get(agent.spec.marker);
  return (spool?.lines ?? []).flatMap((line) => ('text' in line ? [line.text] : []));
}

function printedBy(rig: Rig, agent: ScriptedAgent): readonly string[] {
  return linesOf(rig, agent).flatMap((line) => /"kind":"message","id":"([^"]+)"/.exec(line)?.[1] ?? []);
}

function didSomething(rig: Rig, agent: ScriptedAgent): boolean {
  return linesOf(rig, agent).some((line) => /"kind":"(message|call-started)"/.test(line));
}
