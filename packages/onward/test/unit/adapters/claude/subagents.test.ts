import { describe, expect, test } from 'vitest';
import { of, outcome, play, recorded, say } from './support.ts';

const done = say.text('All is done.');

describe('subagents', () => {
  test('R115 a subagent that failed leaves the work incomplete, though the CLI calls it completed', () => {
    for (const name of ['subagent-failed', 'subagent-background-failed']) {
      const { ending } = play(recorded(name));
      expect(ending).toMatchObject({ ok: false, failure: { type: 'subagent_killed' } });
      expect(outcome(ending)).toBe('incomplete');
    }
  });

  test.each(['failed', 'killed', 'stopped'])('R115 a subagent that was %s leaves the work incomplete', (status) => {
    const task = { type: 'system', task_id: 't1', session_id: 's' };
    const lines = [
      say.init(),
      { ...task, subtype: 'task_started', task_type: 'local_agent', description: 'Look' },
      status === 'killed'
        ? { ...task, subtype: 'task_updated', patch: { status } }
        : { ...task, subtype: 'task_notification', status },
      done,
      say.result(),
    ];
    expect(outcome(play(lines).ending)).toBe('incomplete');
    const again = { ...task, task_id: 't2', subtype: 'task_started', task_type: 'local_agent', description: 'Look' };
    const ended = { ...task, task_id: 't2', subtype: 'task_notification', status: 'completed' };
    // R117: the same job was begun again and done.
    expect(outcome(play([...lines.slice(0, 3), again, ended, done, say.result()]).ending)).toBe('success');
  });

  test('healthy ones are a success, and their words are not the answer', () => {
    const played = play(recorded('subagent-healthy'));
    expect(played.ending).toEqual({ ok: true, text: 'All steps are done: sub, after.' });
    expect(of(played, 'message').map((message) => message.text)).not.toContain('Report: EFFECT_OK_inner');
    expect(of(played, 'call-finished').map((call) => call.output)).toContain('EFFECT_OK_inner');
  });

  test('a result is not the last word while a subagent works in the background', () => {
    const played = play(recorded('subagent-background'));
    expect(recorded('subagent-background').filter((line) => line.includes('"type":"result"'))).toHaveLength(2);
    expect(of(played, 'result')).toHaveLength(1);
    expect(played.observations.at(-1)).toEqual({ kind: 'result' });
  });

  test('an interrupt ends the attempt although a subagent still works', () => {
    const task = {
      type: 'system',
      subtype: 'task_started',
      task_id: 't1',
      task_type: 'local_agent',
      description: 'Look',
    };
    const aborted = say.result({
      subtype: 'error_during_execution',
      is_error: true,
      terminal_reason: 'aborted_streaming',
    });
    expect(of(play([say.init(), task, aborted]), 'result')).toHaveLength(1);
  });

  test('a shell in the background is not waited for', () => {
    const shell = {
      type: 'system',
      subtype: 'task_started',
      task_id: 't1',
      task_type: 'local_bash',
      description: 'server',
    };
    expect(of(play([say.init(), shell, done, say.result()]), 'result')).toHaveLength(1);
  });
});
