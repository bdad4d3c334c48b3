import { OnwardError } from '../../../kernel/error.ts';
import { failureClasses } from '../../../kernel/failure.ts';
import type { Model } from '../../plugin.ts';

/** Classes after which another model can do what the first could not. What a rule refused is not shopped around. */
const switchClasses = [
  'transient',
  'throttled',
  'quota',
  'billing',
  'auth',
  'input',
  'overflow',
  'incomplete',
  'unclassified',
] as const;

/** One of the classes after which a switch can be asked for. */
export type FailoverClass = (typeof switchClasses)[number];

/** Options of `failover`. */
export interface FailoverOptions {
  /** The second model. Another `id` than the first. */
  readonly to: Model;
  /**
   * After failures of which classes that nobody else repairs. Default: `transient` and `throttled` (retries used up, or a hint over the
   * cap), `quota`, `billing`. A login that is refused (`auth`) is left to a person unless it is named here.
   */
  readonly after?: readonly FailoverClass[];
}

const defaultClasses: readonly FailoverClass[] = ['transient', 'throttled', 'quota', 'billing'];

/** The options with nothing left open. Throws `config/...` with the place. */
export function resolveFailover(options: FailoverOptions): Required<FailoverOptions> {
  for (const key of Object.keys(options))
    if (key !== 'to' && key !== 'after')
      throw new OnwardError('config/unknown-setting', `There is no option failover.${key}.`, {
        place: `failover.${key}`,
        next: ['Known here: to, after.'],
      });
  const { to, after = defaultClasses } = options;
  if (typeof to?.stream !== 'function' || typeof to.id !== 'string' || to.id === '')
    throw badOption('failover.to', 'a model with an id');
  if (!Array.isArray(after) || after.length === 0) throw badOption('failover.after', 'a list with at least one class');
  for (const [index, name] of (after as readonly unknown[]).entries()) {
    const place = `failover.after[${index}]`;
    if (!switchClasses.some((known) => known === name)) {
      const refused = failureClasses.some((known) => known === name) ? ', since another model does not mend that' : '';
      throw badOption(place, `one of ${switchClasses.join(', ')}${refused}`);
    }
    if (after.findIndex((other) => other === name) !== index) throw badOption(place, 'named once');
  }
  return { to, after: [...after] };
}

/** An option that cannot be. */
export function badOption(place: string, must: string): OnwardError {
  return new OnwardError('config/bad-value', `${place} must be ${must}.`, { place });
}
