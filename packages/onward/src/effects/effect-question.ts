import { canonicalJson, type Json } from '../kernel/json.ts';
import type { Append } from '../kernel/journal.ts';
import { type Question, type QuestionState, useAppend } from '../kernel/question.ts';
import type { EffectSituation } from './decide-effect.ts';
import type { EffectCalls, EffectName } from './effect.ts';
import { resourceOf } from './key.ts';

/** Version of the rules by which an unknown outcome becomes a question. */
const effectRules = 'effects/1';

/** What a person can say about an effect whose outcome nobody knows. */
export const effectChoices = ['happened', 'did-not-happen', 'give-up'] as const;

/** A payload over this many characters is only named in a question. */
const LONGEST_PAYLOAD = 32_768;

const LONGEST_RESOURCE = 200;

/** What is asked about. */
export interface UnknownEffect {
  readonly id: string;
  readonly owner: string;
  readonly name: EffectName;
  readonly calls: EffectCalls;
  readonly key: string;
  readonly because: string;
}

/** The question whether an effect happened, with exactly what was to be done. */
export function effectQuestion({ id, owner, name, calls, key, because }: UnknownEffect): Question {
  const payload = payloadOf(name, calls);
  const text = canonicalJson(payload);
  const resource = shownResource(name);
  return {
    id,
    owner,
    subject: 'effect',
    text: `Did ${name.action} (${resource}) happen? It was begun, no receipt came back, and ${because}.`,
    choices: effectChoices,
    details: {
      action: name.action,
      key,
      resource,
      ...(text.length > LONGEST_PAYLOAD ? { payloadCharacters: text.length } : { payload }),
    },
    policyVersion: effectRules,
    mayAnswer: calls.mayAnswer ?? [],
  };
}

/** What is acted upon, short enough for an event and a sentence. */
export function shownResource(name: EffectName): string {
  const resource = resourceOf(name);
  if (resource.length <= LONGEST_RESOURCE) return resource;
  return `${resource.slice(0, LONGEST_RESOURCE)}...`.toWellFormed();
}

/** What is sent: the declared payload, else the identity. */
export function payloadOf(name: EffectName, calls: EffectCalls): Json {
  return calls.payload ?? name.identity;
}

/** An answer under other rules, or one that is no choice, does not count: it is asked again. */
export function underPresentRules(state: QuestionState | undefined): EffectSituation['question'] {
  if (state?.question.policyVersion !== effectRules) return { kind: 'none' };
  if (state.state === 'open') return { kind: 'open' };
  const isAnswer = state.state === 'answered' && (effectChoices as readonly string[]).includes(state.answer.choice);
  return isAnswer ? { kind: 'answered', answer: state.answer } : { kind: 'none' };
}

/** Uses the answer up, together with what it allows. */
export function useAnswer(question: QuestionState | undefined): readonly Append[] {
  return question?.state === 'answered' ? [useAppend(question.question.id)] : [];
}
