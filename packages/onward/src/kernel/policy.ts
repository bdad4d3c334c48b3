import { OnwardError } from './error.ts';
import { canonicalJson, type Json } from './json.ts';
import type { Hash } from './ports.ts';

/** The longest time that can be set, ms: a year. Longer is taken for a slip. */
export const longestMs: number = 365 * 24 * 3_600_000;

/**
 * How failures are answered. Times are ms; 0 switches a time-out off. Resolved once when work is accepted and never
 * read from configuration again (`resolvePolicy`).
 */
export interface Policy {
  readonly retry: {
    /** False: every failure surfaces at once. */
    readonly enabled: boolean;
    /** `list`: the waits below, one for each failure in a row without progress. The only strategy so far. */
    readonly strategy: 'list';
    /** Waits before the next attempt; their number bounds the failures in a row. Empty: no retry. */
    readonly scheduleMs: readonly number[];
    /** Each wait is spread by this share up and down. */
    readonly jitter: number;
    /** Attempts in all, the first included; never reset. */
    readonly total: number;
    /** A server's hint longer than this parks instead of holding a process. */
    readonly hintCapMs: number;
    /** Retries of `unclassified` failures, and only where nothing can be repeated. */
    readonly unclassified: number;
    /** Retries of `auth` failures, and only after the credential source changed. */
    readonly auth: number;
    /** Fresh conversations with a summary, after the context was lost or is poisoned. */
    readonly fallbacks: number;
    /** Requests that the agent itself may repeat before the first byte. */
    readonly inner: number;
  };
  /** After the schedule, while an attempt produces nothing: one try per `everyMs`, for `patienceMs`. */
  readonly outage: { readonly everyMs: number; readonly patienceMs: number };
  /** Usage limits waited for (0 = none: they surface), and what is added to the time they name. */
  readonly quota: { readonly windows: number; readonly marginMs: number };
  /** Rounds in which findings are sent back for revision. */
  readonly revisions: number;
  /** Tool calls that the agent's own rules refused: `stop` asks a human, `ignore` takes the answer as it is. */
  readonly onDenied: 'stop' | 'ignore';
  readonly timeouts: {
    /** Until the first event. */
    readonly startupMs: number;
    /** Between events while no tool is open. */
    readonly idleMs: number;
    /** One tool call. */
    readonly toolMs: number;
    /** From the agent's last word to its exit. */
    readonly afterResultMs: number;
    /** All attempts and waits together. */
    readonly wallMs: number;
    /** Each step of ending an agent early. */
    readonly ladderMs: number;
    /** Until an attempt's processes are really gone. */
    readonly goneMs: number;
  };
}

/** The policy of a supervised CLI run where nothing else is set. */
export const defaultPolicy: Policy = freeze({
  retry: {
    enabled: true,
    strategy: 'list',
    scheduleMs: [10_000, 20_000, 60_000],
    jitter: 0.1,
    total: 20,
    hintCapMs: 15 * 60_000,
    unclassified: 1,
    auth: 1,
    fallbacks: 1,
    inner: 3,
  },
  outage: { everyMs: 5 * 60_000, patienceMs: 0 },
  quota: { windows: 0, marginMs: 60_000 },
  revisions: 2,
  onDenied: 'stop',
  timeouts: {
    startupMs: 120_000,
    idleMs: 300_000,
    toolMs: 30 * 60_000,
    afterResultMs: 15_000,
    wallMs: 12 * 3_600_000,
    ladderMs: 5_000,
    goneMs: 10_000,
  },
});

/** Where a value came from, strongest first. */
export type PolicySource = 'flag' | 'environment' | 'project' | 'user' | 'default';

/** Some settings from one place: any part of a `Policy`, as untrusted data. */
export interface PolicyLayer {
  readonly source: PolicySource;
  readonly values: Json;
}

/** A policy frozen for one piece of work: carried with it through queue, persistence and hand-over. */
export interface PolicySnapshot {
  readonly version: 1;
  readonly policy: Policy;
  /** For each setting, e.g. `retry.total`, where its value came from. */
  readonly provenance: Readonly<Record<string, PolicySource>>;
  /** SHA-256 of version and policy: equal hash, equal behaviour. */
  readonly hash: string;
}

const choices: Readonly<Record<string, readonly string[]>> = {
  'retry.strategy': ['list'],
  onDenied: ['stop', 'ignore'],
};

/**
 * Merges layers (strongest first) over the defaults. An explicit zero stays zero. Throws `config/...` naming the
 * setting for an unknown key, an unknown strategy or a value out of range.
 */
export function resolvePolicy(
  layers: readonly PolicyLayer[],
  hash: Hash,
  defaults: Policy = defaultPolicy,
): PolicySnapshot {
  const provenance: Record<string, PolicySource> = {};
  for (const layer of layers) refuseBad(layer.values, defaults as unknown as Json, '', layer.source);
  const policy = merge(layers, defaults as unknown as Json, '', provenance);
  const text = canonicalJson(policy);
  return freeze({ version: 1, policy: policy as unknown as Policy, provenance, hash: hash.sha256(`policy/1 ${text}`) });
}

function merge(
  layers: readonly PolicyLayer[],
  fallback: Json,
  path: string,
  provenance: Record<string, PolicySource>,
): Json {
  if (isRecord(fallback)) {
    const entries = Object.entries(fallback).map(([key, inner]) => [
      key,
      merge(layers, inner, join(path, key), provenance),
    ]);
    return Object.fromEntries(entries) as Json;
  }
  for (const layer of layers) {
    const value = lookUp(layer.values, path);
    if (value === undefined) continue;
    provenance[path] = layer.source;
    return copyOf(value);
  }
  provenance[path] = 'default';
  return copyOf(fallback);
}

/** A snapshot shares nothing with the configuration it was made from. */
function copyOf(value: Json): Json {
  return Array.isArray(value) ? [...(value as readonly Json[])] : value;
}

function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

function check(value: Json, fallback: Json, path: string, source: PolicySource): void {
  const wrong = (must: string): OnwardError =>
    new OnwardError(
      'config/bad-value',
      `The setting ${path} (from ${source}) must be ${must}; it is ${JSON.stringify(value).slice(0, 80)}.`,
      { place: path },
    );
  if (typeof fallback === 'number') checkNumber(value, path, wrong);
  else if (typeof fallback === 'boolean') {
    if (typeof value !== 'boolean') throw wrong('true or false');
  } else if (typeof fallback === 'string') {
    if (!choices[path]?.includes(value as string)) throw wrong(`one of ${choices[path]?.join(', ')}`);
  } else {
    if (!Array.isArray(value) || value.length > 100) throw wrong('a list of at most 100 times');
    for (const [index, item] of (value as readonly Json[]).entries())
      checkNumber(item, path, (must) => wrong(`${must} at place ${index + 1}`));
  }
}

/** Counts, which would be meant as times if they were larger. All other whole numbers are times. */
const counts: readonly string[] = [
  'retry.total',
  'retry.unclassified',
  'retry.auth',
  'retry.fallbacks',
  'retry.inner',
  'quota.windows',
  'revisions',
];

/** More than that is taken for a slip, so that nothing runs without an outer bound. */
const highestCount = 1_000;

function checkNumber(value: Json, path: string, wrong: (must: string) => OnwardError): void {
  if (typeof value !== 'number' || !(value >= 0) || Object.is(value, -0)) throw wrong('a number of at least 0');
  if (path === 'retry.jitter') {
    if (value > 1) throw wrong('a share between 0 and 1');
    return;
  }
  const [most, unit] = counts.includes(path) ? [highestCount, ''] : [longestMs, ' (a year in ms)'];
  if (value > most) throw wrong(`at most ${most}${unit}`);
  if (!Number.isInteger(value)) throw wrong('a whole number');
  if (path === 'retry.total' && value < 1) throw wrong('at least 1');
}

function refuseBad(values: Json, known: Json, path: string, source: PolicySource): void {
  if (!isRecord(known)) {
    check(values, known, path, source);
    return;
  }
  if (!isRecord(values))
    throw new OnwardError(
      'config/bad-value',
      `The setting ${path || 'policy'} (from ${source}) must be a group of settings.`,
      { place: path || 'policy' },
    );
  for (const [key, inner] of Object.entries(values)) {
    // From code, `undefined` is a setting that was not made.
    if ((inner as Json | undefined) === undefined) continue;
    const expected = Object.hasOwn(known, key) ? known[key] : undefined;
    if (expected === undefined) {
      throw new OnwardError('config/unknown-setting', `There is no setting ${join(path, key)} (from ${source}).`, {
        place: join(path, key),
        next: [`Known here: ${Object.keys(known).join(', ')}.`],
      });
    }
    refuseBad(inner, expected, join(path, key), source);
  }
}

function lookUp(values: Json, path: string): Json | undefined {
  let found: Json | undefined = values;
  for (const key of path.split('.')) found = isRecord(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return found;
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
