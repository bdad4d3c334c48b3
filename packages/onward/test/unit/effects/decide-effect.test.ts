import { describe, expect, test } from 'vitest';
import {
  decideEffect,
  type EffectMove,
  type EffectSituation,
  longestWaitMs,
} from '../../../src/effects/decide-effect.ts';
import type { EffectStage, EffectState } from '../../../src/effects/effect-state.ts';

const caller = { ledger: 'l', stream: 'session:s', epoch: 1 };
const receipt = { json: 'r' };

function effect(stage: EffectStage, more: Partial<EffectState> = {}): EffectState {
  return { key: 'k', payload: 'p', calls: 1, firstAt: 0, stage, late: [], ...more };
}

const unsure: EffectStage = { kind: 'unsure', caller, endedAt: 1_000 };
const going: EffectStage = { kind: 'unsure', caller };
const says = (choice: string) => ({ kind: 'answered', answer: { choice, by: 'me' } }) as const;
const lookup = { lookup: true };
const nothing = { lookup: false };

interface Case {
  readonly given: string;
  readonly situation: Partial<EffectSituation>;
  readonly move: Partial<EffectMove>;
}

const cases: readonly Case[] = [
  { given: 'a key that was never called', situation: {}, move: { kind: 'call', because: 'first' } },
  { given: 'never called, aborted', situation: { aborted: true }, move: { kind: 'refuse', because: 'aborted' } },
  {
    given: 'never called, another key open on the resource',
    situation: { claim: effect(unsure, { key: 'other' }) },
    move: { kind: 'refuse', because: 'claimed' },
  },
  {
    given: 'its receipt on record',
    situation: { effect: effect({ kind: 'accepted', receipt, by: 'call', n: 1 }) },
    move: { kind: 'repeat', receipt },
  },
  {
    given: 'its receipt on record, another payload',
    situation: { effect: effect({ kind: 'accepted', receipt, by: 'call', n: 1 }), payload: 'q' },
    move: { kind: 'refuse', because: 'other-payload' },
  },
  {
    given: 'given up',
    situation: { effect: effect({ kind: 'given-up' }) },
    move: { kind: 'refuse', because: 'given-up' },
  },
  {
    given: 'rejected before',
    situation: { effect: effect({ kind: 'free', because: 'rejected' }) },
    move: { kind: 'call', because: 'rejected' },
  },
  { given: 'a live caller', situation: { effect: effect({ kind: 'calling', caller }) }, move: { kind: 'in-flight' } },
  {
    given: 'a caller that is gone',
    situation: { effect: effect({ kind: 'calling', caller }), callerGone: true },
    move: { kind: 'take-over' },
  },
  {
    given: 'an abandoned call whose caller is gone',
    situation: { effect: effect(going), callerGone: true },
    move: { kind: 'take-over' },
  },
  {
    given: 'unsure, and a receipt that came late',
    situation: { effect: effect(unsure, { late: [{ n: 1, receipt }] }) },
    move: { kind: 'adopt', from: 'late-receipt', receipt },
  },
  { given: 'unsure, a lookup', situation: { effect: effect(unsure), can: lookup }, move: { kind: 'look-up' } },
  {
    given: 'unsure, a lookup and a service that dedupes',
    situation: { effect: effect(unsure), can: { ...lookup, keyLifetimeMs: 1e9 } },
    move: { kind: 'look-up' },
  },
  { given: 'unsure, nothing to go by', situation: { effect: effect(unsure), can: nothing }, move: { kind: 'ask' } },
  {
    given: 'unsure, nothing to go by, asked already',
    situation: { effect: effect(unsure), can: nothing, question: { kind: 'open' } },
    move: { kind: 'stand' },
  },
  {
    given: 'unsure, a service that dedupes',
    situation: { effect: effect(unsure), can: { ...nothing, keyLifetimeMs: 100_000 } },
    move: { kind: 'call', because: 'deduped' },
  },
  {
    given: 'unsure, a service that dedupes, asked already',
    situation: { effect: effect(unsure), can: { ...nothing, keyLifetimeMs: 100_000 }, question: { kind: 'open' } },
    move: { kind: 'call', because: 'deduped' },
  },
  {
    given: 'unsure, a service that dedupes, called twice in this run',
    situation: { effect: effect(unsure), can: { ...nothing, keyLifetimeMs: 100_000 }, calls: 2 },
    move: { kind: 'ask' },
  },
  {
    given: 'unsure, a service that dedupes, aborted',
    situation: { effect: effect(unsure), can: { ...nothing, keyLifetimeMs: 100_000 }, aborted: true },
    move: { kind: 'ask' },
  },
  {
    given: 'unsure, in the last tenth of the life of the key',
    situation: { effect: effect(unsure), can: { ...nothing, keyLifetimeMs: 10_000 }, now: 9_000 },
    move: { kind: 'ask' },
  },
  {
    given: 'absent, not authoritative',
    situation: { effect: effect(unsure), can: lookup, found: { kind: 'absent', at: 9_000 } },
    move: { kind: 'ask' },
  },
  {
    given: 'absent, asked before the time to settle',
    situation: { effect: effect(unsure), can: { ...lookup, settleMs: 9_000 }, found: { kind: 'absent', at: 9_000 } },
    move: { kind: 'wait', until: 10_000 },
  },
  {
    given: 'absent, asked before the time to settle, which is over',
    situation: {
      effect: effect(unsure),
      can: { ...lookup, settleMs: 9_000 },
      found: { kind: 'absent', at: 9_000 },
      now: 10_000,
    },
    move: { kind: 'look-up' },
  },
  {
    given: 'absent, asked when it can be believed',
    situation: { effect: effect(unsure), can: { ...lookup, settleMs: 9_000 }, found: { kind: 'absent', at: 10_000 } },
    move: { kind: 'call', because: 'absent' },
  },
  {
    given: 'absent, believed, aborted',
    situation: {
      effect: effect(unsure),
      can: { ...lookup, settleMs: 0 },
      found: { kind: 'absent', at: 9_000 },
      aborted: true,
    },
    move: { kind: 'settle' },
  },
  {
    given: 'absent, a long time to settle',
    situation: {
      effect: effect(unsure),
      can: { ...lookup, settleMs: longestWaitMs + 9_000 },
      found: { kind: 'absent', at: 9_000 },
    },
    move: { kind: 'ask' },
  },
  {
    given: 'absent, but the call may still do something',
    situation: { effect: effect(going), can: { ...lookup, settleMs: 0 }, found: { kind: 'absent', at: 9_000 } },
    move: { kind: 'ask' },
  },
  {
    given: 'unknown to the service too, a time to settle',
    situation: { effect: effect(unsure), can: { ...lookup, settleMs: 0 }, found: { kind: 'unknown', at: 9_000 } },
    move: { kind: 'ask' },
  },
  {
    given: 'a person says that it happened',
    situation: { effect: effect(unsure), can: lookup, question: says('happened') },
    move: { kind: 'adopt', from: 'person' },
  },
  {
    given: 'a person gives it up',
    situation: { effect: effect(unsure), can: lookup, question: says('give-up') },
    move: { kind: 'give-up' },
  },
  {
    given: 'a person says that it did not happen',
    situation: { effect: effect(unsure), can: nothing, question: says('did-not-happen') },
    move: { kind: 'call', because: 'person' },
  },
  {
    given: 'a person says that it did not happen, and the service can be asked',
    situation: { effect: effect(unsure), can: lookup, question: says('did-not-happen') },
    move: { kind: 'look-up' },
  },
  {
    given: 'a person says that it did not happen, and so does the service',
    situation: {
      effect: effect(unsure),
      can: lookup,
      question: says('did-not-happen'),
      found: { kind: 'absent', at: 9_000 },
    },
    move: { kind: 'call', because: 'person' },
  },
  {
    given: 'a person says that it did not happen, aborted',
    situation: { effect: effect(unsure), can: nothing, question: says('did-not-happen'), aborted: true },
    move: { kind: 'refuse', because: 'aborted' },
  },
  {
    given: 'a person says that it did not happen, but the call may still do something',
    situation: { effect: effect(going), can: nothing, question: says('did-not-happen') },
    move: { kind: 'in-flight' },
  },
];

describe('the next move of an effect', () => {
  test.each(cases)('given $given, then $move.kind', ({ situation, move }) => {
    const base: EffectSituation = {
      payload: 'p',
      can: nothing,
      callerGone: false,
      question: { kind: 'none' },
      calls: 0,
      aborted: false,
      now: 9_000,
    };
    expect(decideEffect({ ...base, ...situation })).toMatchObject(move);
  });
});
