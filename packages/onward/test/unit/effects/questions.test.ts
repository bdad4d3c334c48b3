import { describe, expect, test } from 'vitest';
import { answerQuestion, effectChoices, listQuestions, readQuestion } from '../../../src/effects/index.ts';
import { inboxOf } from '../../../src/kernel/inbox.ts';
import { askAppend, expireAppend, type Question, questionStream, useAppend } from '../../../src/kernel/question.ts';
import { asKind, effectRig, leased, never, publish, testService } from './support/effect-rig.ts';

const alone = { owner: '' };
const lost = (): never => {
  throw new Error('ECONNRESET');
};

function question(more: Partial<Question> = {}): Question {
  return {
    id: 'q',
    owner: 'session:s',
    subject: 'approval',
    text: 'May it?',
    choices: ['yes', 'no'],
    details: { tool: 'shell', input: 'rm -r x' },
    policyVersion: '1',
    mayAnswer: [],
    ...more,
  };
}

describe('a question', () => {
  test('is listed with all it asks about, and answered from anywhere; the work is woken in the same append', async () => {
    const { journal, clock } = effectRig();
    await journal.append([askAppend(question())]);
    expect(await listQuestions(journal)).toEqual([{ state: 'open', question: question() }]);
    expect(await answerQuestion(journal, 'q', { choice: 'yes', by: 'ann', note: 'go' }, clock)).toEqual({
      kind: 'taken',
    });
    expect(await readQuestion(journal, 'q')).toMatchObject({ state: 'answered', answer: { choice: 'yes', by: 'ann' } });
    const inbox = inboxOf('session:s');
    expect(await journal.read(inbox)).toMatchObject([
      { type: 'answer.given', id: 'answer:q', data: { question: 'q' } },
    ]);
    expect(await journal.due(clock.now(), 10)).toEqual([{ stream: inbox, due: clock.now() }]);
  });

  test('takes the first answer, and says so to the later ones', async () => {
    const { journal, clock } = effectRig();
    await journal.append([askAppend(question())]);
    const answers = await Promise.all(
      ['ann', 'bob', 'cem'].map((by) => answerQuestion(journal, 'q', { choice: 'yes', by }, clock)),
    );
    expect(answers.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
    const state = await readQuestion(journal, 'q');
    const answer = state?.state === 'answered' ? state.answer : undefined;
    for (const other of answers.filter(({ kind }) => kind !== 'taken'))
      expect(other).toEqual({ kind: 'already', answer });
    await journal.append([useAppend('q')]);
    expect(await answerQuestion(journal, 'q', { choice: 'no', by: 'dan' }, clock)).toEqual({ kind: 'already', answer });
    expect(await journal.read(inboxOf('session:s'))).toHaveLength(1);
  });

  test('refuses whom it does not concern, what is no choice, what is over, and what is none', async () => {
    const { journal, clock } = effectRig();
    await journal.append([askAppend(question({ mayAnswer: ['lead'] }))]);
    const say = (id: string, choice: string, by: string) => answerQuestion(journal, id, { choice, by }, clock);
    expect(await say('q', 'yes', 'ann')).toEqual({ kind: 'not-allowed', mayAnswer: ['lead'] });
    expect(await say('q', 'maybe', 'lead')).toEqual({ kind: 'bad-choice', choices: ['yes', 'no'] });
    expect(await say('nothing', 'yes', 'lead')).toEqual({ kind: 'unknown-question' });
    expect(await journal.read(questionStream('q'))).toHaveLength(1);
    await journal.append([expireAppend('q', 1, 'cancelled')]);
    expect(await say('q', 'yes', 'lead')).toEqual({ kind: 'expired', because: 'cancelled' });
    expect(await journal.read(inboxOf('session:s'))).toEqual([]);
  });

  test('can be filtered by state and owner; one of a newer program hides none of the others', async () => {
    const { journal, clock } = effectRig();
    await journal.append([askAppend(question({ id: 'a' }))]);
    await journal.append([askAppend(question({ id: 'b', owner: 'session:t' }))]);
    await journal.append([
      { stream: questionStream('c'), expected: 0, events: [{ type: 'question.opened', v: 99, data: {} }] },
    ]);
    await answerQuestion(journal, 'a', { choice: 'no', by: 'ann' }, clock);
    const ids = async (filter: Parameters<typeof listQuestions>[1]) =>
      (await listQuestions(journal, filter)).map((state) => state.question.id);
    expect(await ids({})).toEqual(['a', 'b']);
    expect(await ids({ state: 'open' })).toEqual(['b']);
    expect(await ids({ owner: 'session:s' })).toEqual(['a']);
  });
});

describe('the question about an effect', () => {
  test.each([undefined, { id: 'found by hand' }])('happened: %j is the receipt, nothing is called', async (value) => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: lost });
    const ledger = rig.ledger('a');
    const { question: asked } = asKind(await ledger.run(publish, calls, alone, never), 'waiting');
    const said = { choice: 'happened', by: 'ann', ...(value === undefined ? {} : { value }) };
    await answerQuestion(rig.journal, asked.id, said, rig.clock);
    const outcome = await ledger.run(publish, calls, alone, never);
    expect(outcome).toMatchObject({ kind: 'accepted', receipt: value ?? null, repeated: true });
    expect((await rig.events()).at(-1)?.data).toMatchObject({ by: 'person', person: 'ann' });
    expect(await readQuestion(rig.journal, asked.id)).toMatchObject({ state: 'used' });
    expect(accepted).toHaveLength(1);
  });

  test('did-not-happen: it is called again, and the answer is used up with the new intent', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ before: (_signal, nth) => (nth === 1 ? lost() : undefined) });
    const ledger = rig.ledger('a');
    const { question: asked } = asKind(await ledger.run(publish, calls, alone, never), 'waiting');
    await answerQuestion(rig.journal, asked.id, { choice: 'did-not-happen', by: 'ann' }, rig.clock);
    // A crash before the intent leaves the answer usable.
    rig.breakAppends(() => 'before');
    await expect(ledger.run(publish, calls, alone, never)).rejects.toThrow('disk');
    expect(await readQuestion(rig.journal, asked.id)).toMatchObject({ state: 'answered' });
    rig.breakAppends(undefined);
    expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'accepted', repeated: false });
    expect(await readQuestion(rig.journal, asked.id)).toMatchObject({ state: 'used' });
    expect(accepted).toHaveLength(1);
  });

  test('did-not-happen, though the service says that it did: its receipt counts', async () => {
    const rig = effectRig();
    const hidden = testService({ afterwards: lost });
    const ledger = rig.ledger('a');
    const { question: asked } = asKind(await ledger.run(publish, hidden.calls, alone, never), 'waiting');
    await answerQuestion(rig.journal, asked.id, { choice: 'did-not-happen', by: 'ann' }, rig.clock);
    const open = { ...hidden.calls, lookup: async () => ({ kind: 'accepted', receipt: 'there' }) as const };
    expect(await ledger.run(publish, open, alone, never)).toMatchObject({ kind: 'accepted', receipt: 'there' });
    expect(await readQuestion(rig.journal, asked.id)).toMatchObject({ state: 'expired' });
    expect(hidden.accepted).toHaveLength(1);
  });

  test('give-up: it is refused from then on', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: lost });
    const ledger = rig.ledger('a');
    const { question: asked } = asKind(await ledger.run(publish, calls, alone, never), 'waiting');
    await answerQuestion(rig.journal, asked.id, { choice: 'give-up', by: 'ann' }, rig.clock);
    for (let run = 0; run < 2; run++)
      expect(await ledger.run(publish, calls, alone, never)).toMatchObject({ kind: 'refused', because: 'given-up' });
    expect(accepted).toHaveLength(1);
  });

  test('is asked again when it was answered under other rules, or expired', async () => {
    const rig = effectRig();
    const { calls, accepted } = testService({ afterwards: lost });
    const ledger = rig.ledger('a');
    const first = asKind(await ledger.run(publish, calls, alone, never), 'waiting').question;
    await rig.journal.append([expireAppend(first.id, 1, 'the work was cancelled')]);
    const second = asKind(await ledger.run(publish, calls, alone, never), 'waiting').question;
    expect(second.id).not.toBe(first.id);
    // As an older program would have asked.
    const stream = questionStream(second.id);
    const events = await rig.journal.read(stream);
    await rig.journal.erase(stream);
    const old = { ...(events[0]?.data as object), policyVersion: 'effects/0' };
    await rig.journal.append([{ stream, expected: 0, events: [{ type: 'question.opened', v: 1, data: old }] }]);
    await answerQuestion(rig.journal, second.id, { choice: 'did-not-happen', by: 'ann' }, rig.clock);
    const third = asKind(await ledger.run(publish, calls, alone, never), 'waiting').question;
    expect(third.id).not.toBe(second.id);
    expect(await readQuestion(rig.journal, second.id)).toMatchObject({ state: 'expired' });
    expect(accepted).toHaveLength(1);
  });

  test('belongs to the work that waits, which its answer wakes; a run of its own wakes nobody', async () => {
    const rig = effectRig();
    const { calls } = testService({ afterwards: lost, more: { mayAnswer: ['ann'] } });
    const ledger = rig.ledger('a');
    const loop = asKind(
      await ledger.run(publish, calls, await leased(rig, 'session:s', 'a'), never),
      'waiting',
    ).question;
    expect([loop.owner, loop.mayAnswer, loop.choices]).toEqual(['session:s', ['ann'], effectChoices]);
    const other = asKind(
      await ledger.run({ ...publish, task: 'other', resource: 'r' }, calls, alone, never),
      'waiting',
    );
    for (const id of [loop.id, other.question.id])
      await answerQuestion(rig.journal, id, { choice: 'give-up', by: 'ann' }, rig.clock);
    expect((await rig.journal.due(rig.clock.now(), 10)).map(({ stream }) => stream)).toEqual([inboxOf('session:s')]);
  });

  test('names a payload that is too large instead of quoting it', async () => {
    const rig = effectRig();
    const { calls } = testService({ afterwards: lost });
    const large = { ...publish, identity: 'y'.repeat(300_000) };
    const { question: asked } = asKind(await rig.ledger('a').run(large, calls, alone, never), 'waiting');
    expect(JSON.stringify(asked).length).toBeLessThan(2_000);
    expect(asked.details).toMatchObject({ payloadCharacters: 300_002 });
  });
});
