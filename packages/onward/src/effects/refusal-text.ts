import { assertNever } from '../kernel/error.ts';
import type { EffectName, EffectRefusal } from './effect.ts';

/** Why an effect is refused by what is on record, or by its caller's signal. */
export type RecordedRefusal = Exclude<EffectRefusal, 'stale-fence' | 'bad-input'>;

/** One sentence on a refusal, and what helps. `claim`: the key that is open on the resource. */
export function refusalText(because: RecordedRefusal, name: EffectName, claim: string | undefined): string {
  switch (because) {
    case 'other-payload':
      return `${name.action} has this key already, with another payload. Add what differs to its identity.`;
    case 'claimed':
      return `${name.action} is open on this resource under another key (${claim ?? ''}). Settle that one first.`;
    case 'given-up':
      return `${name.action} was given up by a person. Count its occurrence up to do it anew.`;
    case 'aborted':
      return `${name.action} was aborted before it was done.`;
    default:
      return assertNever(because, 'the refusal of an effect');
  }
}
