import { expect, test } from 'vitest';
import type { Question } from '../../../src/kernel/question.ts';
import { checkEnd, checkSoFar } from './support/invariants.ts';
import { makePlace, type Place } from './support/place.ts';

/** Whoever is asked although the answer is there already says no, which the end of the session shows. */
const refuse = async (): Promise<string> => await Promise.resolve('deny');

/** Runs until a question of that subject is open, answering others truthfully, and kills the process there. */
async function killWaiting(place: Place, subject: Question['subject']): Promise<Question> {
  const met = Promise.withResolvers<Question>();
  const running = place.start({
    person: async (question) => {
      if (question.subject === subject) met.resolve(question);
      return await Promise.resolve(question.subject === subject ? undefined : 'approve');
    },
  });
  const ended = running.report.then(({ stderr }) => {
    throw new Error(`It ended before it asked: ${stderr}`);
  });
  const question = await Promise.race([met.promise, ended]);
  ended.catch(() => undefined);
  running.kill();
  expect(await running.report).toMatchObject({ signal: 'SIGKILL' });
  await checkSoFar(place, `killed while it waited for the ${subject}`);
  return question;
}

test('R103 an approval that is pending when its process is killed is listed and answered by another, while none runs; the call is then made once', async () => {
  const place = await makePlace(true, {});
  const question = await killWaiting(place, 'approval');
  const open = (await place.questions()).filter(({ state }) => state === 'open');
  expect(open).toMatchObject([
    { question: { id: question.id, owner: 'session:s', details: { tool: 'danger', input: {} }, policyVersion: '1' } },
  ]);
  expect(await place.answer(question.id, 'approve')).toEqual({ kind: 'taken' });
  const { done, stderr } = await place.run({ person: refuse });
  expect(done, stderr).toMatchObject({ rounds: 0 });
  if (done !== undefined) await checkEnd(place, done, 'answered while none ran');
  expect(place.ran().filter((line) => line.startsWith('danger'))).toHaveLength(1);
  expect((await place.questions()).map(({ state }) => state)).toEqual(['used']);
});

test('R107 a session that is opened again while it waits asks the same person the same question, and goes on with the answer', async () => {
  const place = await makePlace(true, {});
  const first = await killWaiting(place, 'approval');
  const second = await killWaiting(place, 'approval');
  expect(second).toEqual(first);
  const { done, stderr } = await place.run();
  expect(done, stderr).toMatchObject({ rounds: 0 });
  if (done !== undefined) await checkEnd(place, done, 'answered by the third');
  expect((await place.questions()).map(({ state }) => state)).toEqual(['used']);
  expect(place.ran().filter((line) => line.startsWith('danger'))).toHaveLength(1);
});

test('R107 an approval that is refused while no process runs is refused for good: the call is not made, and the session goes on', async () => {
  const place = await makePlace(true, {});
  const question = await killWaiting(place, 'approval');
  await place.answer(question.id, 'deny');
  const { done, stderr } = await place.run({ person: refuse });
  expect(done, stderr).toMatchObject({ rounds: 0, refused: [] });
  expect(place.ran().filter((line) => line.startsWith('danger'))).toEqual([]);
  expect(JSON.stringify(done?.history)).toContain('[denied] Denied by test');
});

test('R103 an effect whose outcome is unknown when its process is killed stays a question; the answer of another process settles it without another call', async () => {
  const place = await makePlace(false, { treatments: [{ kind: 'drop-answer' }], lookup: { works: false } });
  const question = await killWaiting(place, 'effect');
  expect(await place.acceptances()).toHaveLength(1);
  const open = (await place.questions()).filter(({ state }) => state === 'open');
  expect(open).toMatchObject([{ question: { id: question.id, subject: 'effect' } }]);
  await place.answer(question.id, 'happened');
  const { done, stderr } = await place.run();
  expect(done, stderr).toMatchObject({ rounds: 0 });
  if (done !== undefined) await checkEnd(place, done, 'settled by a person');
  expect(await place.acceptances()).toHaveLength(1);
});

test('R64 what a reader was shown of a result is there after the process was killed at that moment', async () => {
  const place = await makePlace(true, {});
  const running = place.start();
  const seen = { over: false };
  void running.report.finally(() => {
    seen.over = true;
  });
  while (!seen.over) {
    const shown = place.acks.some(
      ([, type, data]) => type === 'call.finished' && (data as { id: string }).id.startsWith('write'),
    );
    if (shown) break;
    // oxlint-disable-next-line no-await-in-loop -- until it is shown
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  running.kill();
  await running.report;
  await checkSoFar(place, 'killed when the result was shown');
  const { state } = await place.load();
  expect(JSON.stringify(state.history)).toContain('"written"');
  const { done, stderr } = await place.run();
  expect(done, stderr).toBeDefined();
  if (done !== undefined) await checkEnd(place, done, 'gone on');
  expect(place.ran().filter((line) => line.startsWith('write'))).toHaveLength(1);
});
