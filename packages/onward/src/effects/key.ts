import { OnwardError } from '../kernel/error.ts';
import { canonicalJson, findNonJson, type Json } from '../kernel/json.ts';
import type { Hash } from '../kernel/ports.ts';
import type { EffectName } from './effect.ts';

/** Streams of effects begin so; behind it stands a hash of scope, action and resource. */
export const effectPrefix = 'effect:';

const RUN_PREFIX = 'effect-run:';

/**
 * The key of an effect: a hash of scope, task, action, identity and occurrence, and of nothing else. The resource is left
 * out, since it says whom the effect must not meet, not which effect it is. Throws `effects/bad-name`.
 */
export function effectKey(hash: Hash, name: EffectName): string {
  checkName(name);
  return hash.sha256(
    canonicalJson([name.scope, name.task ?? null, name.action, name.identity, name.occurrence ?? 0] satisfies Json),
  );
}

/** What an effect acts upon: the declared resource, else its identity as text. */
export function resourceOf(name: EffectName): string {
  return name.resource ?? canonicalJson(name.identity);
}

/** The one stream of all keys that act on one resource by one action in one scope: their claim is a fold of it. */
export function effectStream(hash: Hash, name: EffectName): string {
  return `${effectPrefix}${hash.sha256(canonicalJson([name.scope, name.action, resourceOf(name)]))}`;
}

/** The stream whose lease a call without a leased caller holds while it lasts. It never has events. */
export function runStream(key: string): string {
  return `${RUN_PREFIX}${key}`;
}

/** True for the owner of a question that no loop waits for: nobody reads its inbox. */
export function isRunStream(owner: string): boolean {
  return owner.startsWith(RUN_PREFIX);
}

/** Throws `effects/bad-name`, with the field as its place. */
function checkName(name: EffectName): void {
  for (const field of ['scope', 'action'] as const)
    if (typeof name[field] !== 'string' || name[field] === '') throw badName(field, 'a text that is not empty');
  for (const field of ['task', 'resource', 'compensates'] as const)
    if (name[field] !== undefined && typeof name[field] !== 'string') throw badName(field, 'a text');
  const { occurrence = 0 } = name;
  if (!Number.isSafeInteger(occurrence) || occurrence < 0) throw badName('occurrence', 'a whole number from 0');
  const place = findNonJson(name.identity);
  if (place !== undefined) throw badName(`identity${place.slice(1)}`, 'plain JSON');
}

function badName(field: string, wanted: string): OnwardError {
  return new OnwardError('effects/bad-name', `The ${field} of an effect must be ${wanted}.`, {
    place: field,
    next: ['Name only what makes two calls the same, as plain JSON.'],
  });
}
