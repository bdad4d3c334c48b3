import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appendTask,
  authFailure,
  deniedTools,
  diesAtOnce,
  garbageInBetween,
  grandchildHoldsStdout,
  healthy,
  initThenDies,
  innerRetryHeals,
  killedInText,
  killedInTool,
  killedInWindow,
  limitWordsInOutput,
  neverEnds,
  overloadedAfterTool,
  overloadedThenWell,
  parsePlay,
  PlayError,
  readPlay,
  resultThenHang,
  unknownSession,
  usageLimit,
} from '../../../src/lab/fake-cli/index.ts';

const plays = {
  authFailure: authFailure(),
  deniedTools: deniedTools(),
  diesAtOnce: diesAtOnce(),
  garbageInBetween: garbageInBetween(),
  grandchildHoldsStdout: grandchildHoldsStdout('pid'),
  healthy: healthy(),
  initThenDies: initThenDies(),
  innerRetryHeals: innerRetryHeals(),
  killedInText: killedInText(),
  killedInTool: killedInTool(appendTask(), 'ready', 'checker'),
  killedInWindow: killedInWindow(),
  limitWordsInOutput: limitWordsInOutput(),
  neverEnds: neverEnds(['SIGTERM']),
  overloadedAfterTool: overloadedAfterTool(),
  overloadedThenWell: overloadedThenWell(3),
  resultThenHang: resultThenHang(),
  unknownSession: unknownSession(),
  usageLimit: usageLimit(1_900_000_000),
};

function fault(value: unknown): { readonly code: string; readonly place: string; readonly message: string } {
  try {
    parsePlay(value);
  } catch (error) {
    if (error instanceof PlayError) return error;
    throw error;
  }
  throw new Error('the play was taken');
}
function outcomeOf(value: unknown): 'taken' | 'refused' | 'another error' {
  try {
    parsePlay(value);
    return 'taken';
  } catch (error) {
    return error instanceof PlayError ? 'refused' : 'another error';
  }
}
const step = (value: unknown): unknown => ({ attempts: [{ steps: [] }, { steps: [{ do: 'request' }, value] }] });

describe('a play', () => {
  it.each(Object.entries(plays))('made by %s is valid, and still the same after JSON', (_, play) => {
    expect(parsePlay(JSON.parse(JSON.stringify(play)))).toEqual(play);
  });

  it.each([
    [null, '', 'must be an object'],
    [{}, 'attempts', 'is missing'],
    [{ attempts: [] }, 'attempts', 'at least one attempt'],
    [{ attempts: {} }, 'attempts', 'must be a list'],
    [{ attempts: [{}] }, 'attempts[0].steps', 'is missing'],
    [{ attempts: [{ steps: [] }], afer: 'refuse' }, 'afer', 'is not known here'],
    [{ attempts: [{ steps: [] }], after: 'stop' }, 'after', 'repeat-last, refuse'],
    [{ attempts: [{ steps: [], refuse: 'no' }] }, 'attempts[0].refuse', 'unknown-session'],
    [step({ do: 'tool' }), 'attempts[1].steps[1].command', 'is missing'],
    [step({ do: 'tool', commnd: 'x', command: 'y' }), 'attempts[1].steps[1].commnd', 'is not known here'],
    [step({ do: 'tool', command: 7 }), 'attempts[1].steps[1].command', 'must be a text'],
    [step({ do: 'sleep', ms: 10 }), 'attempts[1].steps[1].do', 'must be one of'],
    [step({ do: 'constructor' }), 'attempts[1].steps[1].do', 'must be one of'],
    [step({ do: 'fail', with: 'bad-luck' }), 'attempts[1].steps[1].with', 'overloaded'],
    [step({ do: 'exit', code: 256 }), 'attempts[1].steps[1].code', 'from 0 to 255'],
    [step({ do: 'exit', code: 1.5 }), 'attempts[1].steps[1].code', 'whole number'],
    [step({ do: 'kill', signal: 'SIGNOPE' }), 'attempts[1].steps[1].signal', 'SIGKILL'],
    [step({ do: 'wait', for: 'godot' }), 'attempts[1].steps[1].for', 'stdin-eof'],
    [step({ do: 'repeat', times: 2, steps: [{ do: 'text' }] }), 'attempts[1].steps[1].steps[0].text', 'is missing'],
    [step({ do: 'when', if: { seen: '' }, yes: [] }), 'attempts[1].steps[1].if.seen', 'not empty'],
    [
      step({ do: 'tool', command: 'x', during: [{ do: 'hang', ignore: ['x'] }] }),
      'attempts[1].steps[1].during[0].ignore[0]',
      'SIGTERM',
    ],
  ])('%j is refused at "%s"', (value, place, words) => {
    const found = fault(value);
    expect([found.code, found.place]).toEqual(['play/invalid', place]);
    expect(found.message).toContain(words);
  });

  it('is either taken or refused with a PlayError, whatever it is', () => {
    const kinds = ['tool', 'when', 'repeat', 'fail', 'lines', 'wait', 'hang', 'garbage', 'transcript'];
    const anyStep = fc.record(
      { do: fc.constantFrom(...kinds), command: fc.anything(), steps: fc.anything(), if: fc.anything() },
      { requiredKeys: [] },
    );
    const anyPlay = fc.record({ attempts: fc.array(fc.record({ steps: fc.array(fc.oneof(anyStep, fc.anything())) })) });
    const taken = fc.property(fc.oneof(fc.anything(), anyPlay), (value) => outcomeOf(value) !== 'another error');
    expect(fc.check(taken)).toMatchObject({ failed: false });
  });

  it('that is a file which does not exist is named', () => {
    expect(() => readPlay('no-such.play.json')).toThrow(
      expect.objectContaining({ code: 'play/missing', place: 'no-such.play.json' }),
    );
  });
});
