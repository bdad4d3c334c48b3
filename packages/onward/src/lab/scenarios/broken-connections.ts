import type { Fault, FaultRule } from '../model-server/fault.ts';
import type { Scenario } from './scenario.ts';
import { twoEffects } from './scenario.ts';

const ONCE = 'Goes on in the same session; both effects are there once.';

/** The connection, or what comes through it, breaks. Faults in text hit twice, since some agents ask once more by themselves. */
export const BROKEN_CONNECTIONS: readonly Scenario[] = [
  twoEffects('reset-before-headers', 'the connection is reset before any answer', [hits({ kind: 'reset' }, 2, 3)], {
    recoverable: true,
    expectation: ONCE,
  }),
  twoEffects('refused-port', 'nothing listens for five seconds', [hits({ kind: 'refused', forMs: 5000 }, 2)], {
    recoverable: true,
    expectation: 'Keeps trying until the port is open again, then goes on. Codex does so by itself and never gives up.',
  }),
  twoEffects(
    'cut-in-text',
    'the stream is reset in the middle of a text',
    [hits({ kind: 'cut', at: 'text', how: 'rst' }, 2, 3)],
    {
      recoverable: true,
      expectation: `${ONCE} The half text is not taken for an answer.`,
    },
  ),
  twoEffects(
    'clean-end-after-text',
    'the stream ends cleanly after a text, before the message does',
    [hits({ kind: 'cut', at: 'after-text', how: 'fin' }, 2)],
    {
      recoverable: true,
      expectation: `${ONCE} Claude Code exits 0 here with the task undone: the missing end of the message must be noticed.`,
    },
  ),
  twoEffects(
    'cut-in-tool-call',
    'the stream is reset inside the arguments of a tool call',
    [hits({ kind: 'cut', at: 'tool-json', how: 'rst' }, 2)],
    { recoverable: true, expectation: `${ONCE} The half call never runs.` },
  ),
  twoEffects(
    'cut-after-call',
    'the stream is reset after a complete tool call, before the message ends',
    [hits({ kind: 'cut', at: 'after-call', how: 'rst' }, 1)],
    { recoverable: true, expectation: `${ONCE} Both CLIs run the call although the message never ended.` },
  ),
  twoEffects(
    'error-event',
    'an error event (overloaded) arrives in the middle of a stream',
    [hits({ kind: 'error-event', at: 'text', error: 'overloaded' }, 2, 3)],
    { recoverable: true, expectation: ONCE },
  ),
  twoEffects(
    'malformed-chunk',
    'one line of the stream is not JSON',
    [hits({ kind: 'malformed-chunk', at: 'text' }, 2, 3)],
    { recoverable: true, expectation: `${ONCE} Codex skips such a line and notices nothing.` },
  ),
  twoEffects('empty-answer', 'a well-formed answer holds nothing', [hits({ kind: 'empty-answer' }, 2, 3)], {
    recoverable: true,
    expectation: `${ONCE} Both CLIs exit 0 here: an ending without an answer is no success.`,
  }),
  twoEffects('empty-body', 'status 200 and not one byte', [hits({ kind: 'empty-body' }, 2, 3)], {
    recoverable: true,
    expectation: ONCE,
  }),
];

function hits(fault: Fault, from: number, to?: number): FaultRule {
  return to === undefined ? { from, fault } : { from, to, fault };
}
