import type { LabClock } from '../model-server/clock.ts';
import type { ServiceBehaviour, Treatment } from './behaviour.ts';

/** One effect that the service has done. Two of one key are a duplicate. */
export interface Acceptance {
  readonly key: string;
  /** Unique for each acceptance. */
  readonly receipt: string;
  /** What was sent, as text. */
  readonly body: string;
  /** ms since the epoch. */
  readonly at: number;
}

/** One request, as it arrived. */
export interface ServiceRequest {
  readonly what: 'effect' | 'lookup';
  readonly key: string;
  /** For an effect: what was planned for it. */
  readonly treatment?: Treatment['kind'];
  readonly at: number;
}

/** What the service says about a key when it is asked. */
export type Found = { readonly kind: 'found'; readonly receipt: string } | { readonly kind: 'absent' | 'unavailable' };

/** Everything that the service knows: what it really did, and what it admits to. */
export class EffectBook {
  readonly acceptances: Acceptance[] = [];
  readonly requests: ServiceRequest[] = [];
  behaviour: ServiceBehaviour;
  readonly #clock: LabClock;
  #treated = 0;
  readonly #asked = new Map<string, number>();

  constructor(behaviour: ServiceBehaviour, clock: LabClock) {
    this.behaviour = behaviour;
    this.#clock = clock;
  }

  /** Replaces the behaviour; its treatments begin with the next request. */
  behave(behaviour: ServiceBehaviour): void {
    this.behaviour = behaviour;
    this.#treated = 0;
    this.#asked.clear();
  }

  /** The next planned treatment; the request is on record before anything else is done with it. */
  arrive(key: string): Treatment {
    const treatment = this.behaviour.treatments?.[this.#treated] ?? { kind: 'accept' };
    this.#treated += 1;
    this.requests.push({ what: 'effect', key, treatment: treatment.kind, at: this.#clock.now() });
    return treatment;
  }

  /** Does the effect, unless the key is known: then its first receipt, or `conflict` for other content. */
  accept(key: string, body: string): Acceptance | 'conflict' {
    const known = this.behaviour.dedupes === false ? undefined : this.#remembered(key);
    if (known !== undefined) return known.body === body ? known : 'conflict';
    const acceptance = { key, body, receipt: `receipt-${this.acceptances.length + 1}`, at: this.#clock.now() };
    this.acceptances.push(acceptance);
    return acceptance;
  }

  find(key: string): Found {
    this.requests.push({ what: 'lookup', key, at: this.#clock.now() });
    const asked = (this.#asked.get(key) ?? 0) + 1;
    this.#asked.set(key, asked);
    const { works = true, absentFor = 0, absentMs = 0 } = this.behaviour.lookup ?? {};
    if (!works) return { kind: 'unavailable' };
    const known = this.#remembered(key);
    if (known === undefined || asked <= absentFor || this.#clock.now() < known.at + absentMs) return { kind: 'absent' };
    return { kind: 'found', receipt: known.receipt };
  }

  /** The latest acceptance of a key that has not been forgotten. */
  #remembered(key: string): Acceptance | undefined {
    const { forgetsAfterMs = Infinity, remembers = Infinity } = this.behaviour;
    const kept = this.acceptances.filter(
      ({ at }, index, all) => index >= all.length - remembers && this.#clock.now() < at + forgetsAfterMs,
    );
    return kept.findLast((one) => one.key === key);
  }
}
