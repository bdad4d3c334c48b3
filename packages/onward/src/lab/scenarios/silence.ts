import type { Fault, FaultRule } from '../model-server/fault.ts';
import type { Scenario } from './scenario.ts';
import { twoEffects } from './scenario.ts';

/** The connection stays open and nothing useful comes. Only a watchdog of one's own ends these. */
export const SILENCE: readonly Scenario[] = [
  twoEffects('no-headers', 'a request is read and never answered', [once({ kind: 'no-headers' }, 2)], {
    recoverable: true,
    expectation: 'A watchdog ends the attempt; the next one finishes. Codex alone would wait for ever.',
  }),
  twoEffects('stall-in-text', 'the stream goes silent in a text', [once({ kind: 'stall', at: 'text' }, 2)], {
    recoverable: true,
    expectation: 'A watchdog ends the attempt; the next one finishes; both effects are there once.',
  }),
  twoEffects(
    'stall-after-call',
    'the stream goes silent after a complete tool call',
    [once({ kind: 'stall', at: 'after-call' }, 1)],
    {
      recoverable: true,
      expectation:
        'The call ran although its message never ended, and a kill loses it from the session: the continuation must say so, or the effect is there twice.',
    },
  ),
  twoEffects(
    'ping-only',
    'the stream sends keep-alive pings and nothing else',
    [once({ kind: 'ping-only', at: 'text', everyMs: 500 }, 2)],
    { recoverable: true, expectation: 'As stall-in-text: bytes are not progress.' },
  ),
];

function once(fault: Fault, from: number): FaultRule {
  return { from, fault };
}
