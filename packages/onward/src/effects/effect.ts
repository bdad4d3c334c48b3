import type { Failure } from '../kernel/failure.ts';
import type { Append } from '../kernel/journal.ts';
import type { Json } from '../kernel/json.ts';
import type { Question } from '../kernel/question.ts';
import type { Signal } from '../kernel/signal.ts';

/** What names one effect, independent of attempt, worker, clock and the model's call id (rules O56, DESIGN 5). */
export interface EffectName {
  /** The flow or session within which an effect happens once; `journal` for once in the whole journal. */
  readonly scope: string;
  /** Task within the scope, if there are tasks. */
  readonly task?: string;
  /** What is done, e.g. `release.publish`. */
  readonly action: string;
  /** The declared identity fields: what makes two calls the same. Never noise such as times or wording. */
  readonly identity: Json;
  /** What is acted upon; one claim at a time for (action, resource) in a scope. Default: the identity. */
  readonly resource?: string;
  /** How many earlier calls of this identity have results the caller knows of, so that a wanted second one is possible. */
  readonly occurrence?: number;
  /** Links a compensation to the key it undoes (O67). */
  readonly compensates?: string;
}

/** What a service says about a key. `accepted` carries what is known of the result: JSON, or it is kept as unreadable. */
export type Lookup =
  | { readonly kind: 'accepted'; readonly receipt: unknown }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown' };

/** How one effect is done and asked about. Times are ms. */
export interface EffectCalls {
  /** The payload as sent: the same key with another payload is refused (O62). Default: the identity. */
  readonly payload?: Json;
  /**
   * Does it, handing `key` to the service where that dedupes on it. Returns the receipt (JSON). Throw `EffectRejected` when
   * it is certain that nothing happened; anything else thrown leaves the outcome unknown.
   */
  call(key: string, signal: Signal): Promise<unknown>;
  /** Asks the service whether it happened. */
  lookup?(key: string, signal: Signal): Promise<Lookup>;
  /** `absent` can be believed this long after the call ended, and not before. Absent: never; a lookup only proves presence. */
  readonly settleMs?: number;
  /** The service dedupes on our key for this long after it was first sent: within it, calling again is safe. */
  readonly keyLifetimeMs?: number;
  /** Who may decide an unknown outcome; empty or absent = anyone. */
  readonly mayAnswer?: readonly string[];
}

/** How an effect ended, or stands. `repeated`: an earlier receipt was returned and nothing was called. */
export type EffectOutcome =
  | { readonly kind: 'accepted'; readonly key: string; readonly receipt: Json; readonly repeated: boolean }
  | { readonly kind: 'rejected'; readonly key: string; readonly failure: Failure }
  /** Nobody knows; a person is asked. After the answer, run it again. */
  | { readonly kind: 'waiting'; readonly key: string; readonly question: Question }
  /** Another attempt has this key in flight; run it again later. */
  | { readonly kind: 'in-flight'; readonly key: string }
  | { readonly kind: 'refused'; readonly key: string; readonly because: EffectRefusal; readonly message: string };

/** Why an effect was refused before the service heard of it. */
export type EffectRefusal = 'other-payload' | 'claimed' | 'stale-fence' | 'given-up' | 'aborted' | 'bad-input';

/** Where an effect's own events join its caller's: who calls, under which fence, and what is appended with the intent. */
export interface EffectCaller {
  /** The stream of the work that waits for it; woken by the answer to a question. */
  readonly owner: string;
  /** Holds the caller's stream to its epoch in the same append as intent and receipt: a stale one writes neither (O64). */
  fence?(): Append;
}

/** Runs effects once, or leaves them known to be unknown. Keyed by `EffectName`; state is a fold of `effect:<hash>`. */
export interface EffectLedger {
  /** The key of a name: what the service sees. */
  keyOf(name: EffectName): string;
  run(name: EffectName, calls: EffectCalls, caller: EffectCaller, signal: Signal): Promise<EffectOutcome>;
}
