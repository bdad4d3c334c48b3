import { describe, expect, test } from 'vitest';
import { addToView, runView, type RunView } from '../../../src/supervisor/run-view.ts';
import { attachRun } from '../../../src/library/index.ts';
import type { RunStreamEvent } from '../../../src/supervisor/index.ts';
import { accept, createRig, type Started } from './support/rig.ts';
import type { AgentScript } from './support/scripted-agent.ts';

const overloaded = { type: 'overloaded_error', status: 529, message: 'Overloaded', requestId: 'req_1' };

/** Half an answer that is lost, then an overload; then the same words again and the rest. */
const lossy: AgentScript = (agent) => {
  agent.session(agent.spec.launch.argv.at(-1) ?? '');
  agent.text('m1', 'The answer is');
  agent.call('c1', 'look', 'seen');
  agent.say({ kind: 'delta', text: 'forty-' });
  agent.say({ kind: 'inner-retry', attempt: 1, status: 529, delayMs: 500 });
  agent.fail(overloaded, 'forty-');
};
const repeats: AgentScript = (agent) => {
  agent.say({ kind: 'delta', text: 'The answer' });
  agent.say({ kind: 'delta', text: ' is 42.' });
  agent.text('m1', 'The answer is 42.');
  agent.answer('The answer is 42.');
};

async function play(...scripts: readonly AgentScript[]): Promise<Started> {
  const rig = createRig({ scripts });
  const started = await rig.start({ policy: { retry: { scheduleMs: [2_000, 2_000] } } });
  await rig.until(started.result.catch(() => undefined));
  return started;
}

/** Times and numbers of processes are not what these tests are about. */
function calm(view: RunView): RunView {
  return {
    ...view,
    attempts: view.attempts.map((attempt) => ({ ...attempt, nextAt: attempt.nextAt === null ? null : 1 })),
  };
}

describe('the events of a run', () => {
  test('R78 tell a lost attempt and its successor in order, each event with its attempt', async () => {
    const { seen } = await play(lossy, repeats);
    const recorded = seen.filter((event) => event.seq !== null);
    expect(recorded.map(({ seq, type, attempt, willRetry }) => ({ seq, type, attempt, willRetry })))
      .toMatchInlineSnapshot(`
      [
        {
          "attempt": null,
          "seq": 1,
          "type": "run.accepted",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 2,
          "type": "attempt.started",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 3,
          "type": "attempt.spawned",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 4,
          "type": "attempt.session",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 5,
          "type": "message.committed",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 6,
          "type": "call.started",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 7,
          "type": "call.finished",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 8,
          "type": "request.retried",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 9,
          "type": "attempt.failed",
          "willRetry": true,
        },
        {
          "attempt": 1,
          "seq": 10,
          "type": "recovery.decided",
          "willRetry": null,
        },
        {
          "attempt": 1,
          "seq": 11,
          "type": "attempt.superseded",
          "willRetry": null,
        },
        {
          "attempt": 2,
          "seq": 12,
          "type": "attempt.started",
          "willRetry": null,
        },
        {
          "attempt": 2,
          "seq": 13,
          "type": "attempt.spawned",
          "willRetry": null,
        },
        {
          "attempt": 2,
          "seq": 14,
          "type": "message.committed",
          "willRetry": null,
        },
        {
          "attempt": 2,
          "seq": 15,
          "type": "attempt.committed",
          "willRetry": null,
        },
        {
          "attempt": null,
          "seq": 16,
          "type": "run.ended",
          "willRetry": null,
        },
      ]
    `);
  });

  test('R77 an attempt is superseded before the text of its successor', async () => {
    const { seen } = await play(lossy, repeats);
    const superseded = seen.findIndex((event) => event.type === 'attempt.superseded' && event.attempt === 1);
    const next = seen.findIndex((event) => event.attempt === 2 && ['delta', 'message.committed'].includes(event.type));
    expect(superseded).toBeGreaterThan(0);
    expect(next).toBeGreaterThan(superseded);
  });

  test('each recorded event comes once, in order, without gaps', async () => {
    const { seen } = await play(lossy, lossy, repeats);
    const seqs = seen.flatMap((event) => event.seq ?? []);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });

  test('a reader who comes later gets what is after his place, and nothing before it', async () => {
    const rig = createRig({ scripts: [lossy, repeats] });
    const first = await rig.start({ policy: { retry: { scheduleMs: [2_000] } } });
    await rig.until(first.result);
    const late = rig.process(2).attach(first.id, 7);
    await rig.until(late.result);
    const all = first.seen.flatMap((event) => event.seq ?? []);
    expect(late.seen.flatMap((event) => event.seq ?? [])).toEqual(all.filter((seq) => seq > 7));
  });

  test('a reader who begins when all is over gets all that is recorded, however long that takes', async () => {
    const rig = createRig({ scripts: [lossy, repeats] });
    const { journal } = rig.own.journal;
    const follow = journal.follow.bind(journal);
    const slowly: typeof follow = async function* (...where) {
      for await (const event of follow(...where)) {
        await new Promise((resolve) => setImmediate(resolve));
        yield event;
      }
    };
    Object.assign(journal, { follow: slowly });
    const run = attachRun(rig.own.deps, await accept(rig.own.deps));
    await rig.until(run.result);
    const seqs: (number | null)[] = [];
    for await (const event of run) if (event.seq !== null) seqs.push(event.seq);
    expect(seqs).toEqual((await rig.events(run.id)).map((event) => event.position));
  });

  test('a reader who goes away is not waited for, and leaves nothing behind that follows the journal', async () => {
    const rig = createRig({ scripts: [lossy, repeats] });
    const run = attachRun(rig.own.deps, await accept(rig.own.deps));
    for await (const event of run) if (event.type === 'run.accepted') break;
    expect(await rig.until(run.result)).toMatchObject({ status: 'done' });
  });

  test('text as it comes has no number and is not recorded', async () => {
    const { seen, id } = await play(lossy, repeats);
    const deltas = seen.filter((event) => event.type === 'delta');
    expect(deltas.map((event) => [event.seq, event.attempt, event.data])).toEqual([
      [null, 1, { text: 'forty-' }],
      [null, 2, { text: 'The answer' }],
      [null, 2, { text: ' is 42.' }],
    ]);
    expect(deltas.every((event) => event.run === id)).toBe(true);
  });

  test('secrets are taken out of whatever leaves the journal', async () => {
    const rig = createRig({
      scripts: [
        (agent) => {
          agent.say({ kind: 'delta', text: 'the token is tok-very-secret-value' });
          agent.text('m1', 'the token is tok-very-secret-value');
          agent.answer('done');
        },
      ],
    });
    const { result, seen } = await rig.start();
    await rig.until(result);
    expect(JSON.stringify(seen)).not.toContain('tok-very-secret-value');
    expect(JSON.stringify(seen)).toContain('[redacted]');
  });
});

describe('three ways to take the events', () => {
  test('R78 as a stream: the view is true after each of them', async () => {
    const { seen } = await play(lossy, repeats);
    let view: RunView = runView([]);
    const states: string[] = [];
    for (const event of seen) {
      view = addToView(view, event);
      const state = `${view.state} ${view.attempts.map((attempt) => attempt.state).join(',')}`.trim();
      if (state !== states.at(-1)) states.push(state);
    }
    expect(states).toEqual([
      'running',
      'running running',
      'waiting failed',
      'waiting superseded',
      'running superseded,running',
      'running superseded,committed',
      'done superseded,committed',
    ]);
  });

  test('R78 buffered: all at once gives the same view', async () => {
    const { seen } = await play(lossy, repeats);
    expect(runView(seen)).toEqual(seen.reduce(addToView, runView([])));
    expect(calm(runView(seen))).toMatchInlineSnapshot(`
      {
        "answer": "The answer is 42.",
        "attempts": [
          {
            "calls": [
              {
                "callId": "c1",
                "state": "finished",
                "tool": "Bash",
              },
            ],
            "failure": {
              "class": "transient",
              "evidence": "type=overloaded_error",
              "message": "Overloaded",
              "rule": "kernel/1:overloaded",
            },
            "innerRetries": 1,
            "live": "",
            "mode": "first",
            "n": 1,
            "nextAt": 1,
            "state": "superseded",
            "texts": [
              "The answer is",
            ],
            "willRetry": true,
          },
          {
            "calls": [],
            "innerRetries": 0,
            "live": "",
            "mode": "continue",
            "n": 2,
            "nextAt": null,
            "state": "committed",
            "texts": [
              "The answer is 42.",
            ],
            "willRetry": false,
          },
        ],
        "because": "the agent finished with evidence",
        "run": "000000000001",
        "seq": 16,
        "state": "done",
      }
    `);
  });

  test('R78 as JSON lines: what was printed and read again gives the same view', async () => {
    const { seen } = await play(lossy, repeats);
    const printed = seen.map((event) => JSON.stringify(event)).join('\n');
    const read = printed.split('\n').map((line) => JSON.parse(line) as RunStreamEvent);
    expect(runView(read)).toEqual(runView(seen));
  });

  test('events that come twice, and types that nobody knows, change nothing', async () => {
    const { seen } = await play(lossy, repeats);
    const [last] = seen.slice(-1);
    const twice = seen.flatMap((event) => (event.seq === null ? [event] : [event, event]));
    expect(runView(twice)).toEqual(runView(seen));
    const unknown = { ...last, seq: (last?.seq ?? 0) + 1, type: 'planet.aligned', attempt: null } as RunStreamEvent;
    expect({ ...runView([...seen, unknown]), seq: 0 }).toEqual({ ...runView(seen), seq: 0 });
  });

  test('without the live ones the view is the same', async () => {
    const { seen } = await play(lossy, repeats);
    expect(runView(seen.filter((event) => event.seq !== null))).toEqual(runView(seen));
  });
});

describe('the default way', () => {
  test('R79 a plain `text +=` over the committed attempts gives the answer, once and whole', async () => {
    const { seen, result } = await play(lossy, repeats);
    let text = '';
    for (const attempt of runView(seen).attempts) if (attempt.state === 'committed') text += attempt.texts.join('');
    expect(text).toBe('The answer is 42.');
    expect(await result).toMatchObject({ status: 'done', text: 'The answer is 42.' });
    expect(runView(seen).answer).toBe('The answer is 42.');
  });

  test('R79 the result of a run that is not done has no text to mistake for one', async () => {
    const { result, seen } = await play(lossy, lossy, lossy);
    const ended = await result;
    expect(ended.status).toBe('paused');
    expect(ended).not.toHaveProperty('text');
    expect(runView(seen)).not.toHaveProperty('answer');
    expect(runView(seen).attempts.every((attempt) => attempt.live === '')).toBe(true);
  });
});
