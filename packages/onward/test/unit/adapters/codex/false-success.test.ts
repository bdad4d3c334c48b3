import { expect, test } from 'vitest';
import { line, play } from './attempt.ts';

const healthy = [line.thread(), line.turn(), line.text('All is done.'), line.completed()];
const declined = line.command('completed', { status: 'declined', exit_code: null });

test.each(['host-crashed', 'idle-timeout', 'wall-timeout', 'tool-timeout'] as const)(
  'a turn that was completed is a success whatever became of the process afterwards: %s',
  (process) => {
    const { ending } = play(healthy, { failure: { process, message: 'ended' }, exit: { code: 1, signal: null } });
    expect(ending).toEqual({ ok: true, text: 'All is done.' });
  },
);

test('without a completed turn what became of the process is the failure', () => {
  const { ending } = play(healthy.slice(0, 3), { failure: { process: 'host-crashed', message: 'ended' } });
  expect(ending).toMatchObject({ ok: false, failure: { process: 'host-crashed' } });
});

test('an exit code that contradicts a completed turn counts when nobody asked the process to end', () => {
  expect(play(healthy, { exit: { code: 1, signal: null } }).ending.ok).toBe(false);
});

test('a declined call is told also by an attempt that failed for another reason', () => {
  const { ending } = play([line.thread(), line.turn(), declined, line.failed('boom')], {
    exit: { code: 1, signal: null },
  });
  expect(ending).toMatchObject({ ok: false, failure: { message: 'boom' }, denied: [{ summary: 'make' }] });
});

test('a declined call never makes an empty answer acceptable', () => {
  const { ending } = play([line.thread(), line.turn(), declined, line.completed()]);
  expect(ending).toMatchObject({ ok: false, failure: { type: 'empty_answer' }, denied: [{ summary: 'make' }] });
});
