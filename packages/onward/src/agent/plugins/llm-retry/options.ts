import { OnwardError } from '../../../kernel/error.ts';
import { failureClasses } from '../../../kernel/failure.ts';

/** Classes that may pass by themselves, so that the same request is worth a second try. */
const retriedClasses = ['transient', 'throttled', 'crash', 'incomplete'] as const;

/** One of the classes that can be retried. */
export type RetriedClass = (typeof retriedClasses)[number];

/** How failures of one model are retried. Times are ms, at most 2,147,483,647. */
export interface ModelRetryOptions {
  /** Retries in a row, until an answer is committed or a new prompt begins; at most 1,000. 0 = none. Default 5. */
  readonly retries?: number;
  /** The first wait, doubled each time. Default 500. */
  readonly initialMs?: number;
  /** No wait is longer, but for a server's hint. Default 10,000. */
  readonly maxMs?: number;
  /** Each wait is spread by this share up and down, 0 to 1. Default 0.1. */
  readonly jitter?: number;
  /** A server's hint up to this is waited for; a longer one surfaces at once. Default 60,000. */
  readonly hintCapMs?: number;
  /**
   * What is retried. `crash`: a request whose process died, where the session is opened with `recover`. `incomplete`: an answer that
   * the token limit cut inside a call, once and on a budget of its own. Default: all four.
   */
  readonly classes?: readonly RetriedClass[];
  /** Retries of failures that no rule knows, on a budget of their own. Default 0. */
  readonly unclassified?: number;
}

/** Options of `llmRetry`. */
export interface LlmRetryOptions extends ModelRetryOptions {
  /** What is different for one model, by its id. */
  readonly perModel?: Readonly<Record<string, ModelRetryOptions>>;
}

/** The options of one model, with nothing left open. */
export type Settings = Required<ModelRetryOptions>;

/** The longest that a timer of Node can hold; a longer one would fire after 1 ms. */
const longestTimerMs = 2_147_483_647;
/** More retries in a row are taken for a slip. */
const highestCount = 1_000;

const defaults: Settings = {
  retries: 5,
  initialMs: 500,
  maxMs: 10_000,
  jitter: 0.1,
  hintCapMs: 60_000,
  classes: retriedClasses,
  unclassified: 0,
};

/** Checks all options at once and returns those of a model. Throws `config/bad-value` or `config/unknown-setting`, with place. */
export function resolveOptions(options: LlmRetryOptions): (model: string) => Settings {
  const { perModel, ...own } = options;
  const base = merge(defaults, own, 'llmRetry');
  if (perModel !== undefined && (typeof perModel !== 'object' || perModel === null))
    throw bad('llmRetry.perModel', 'options by the id of a model', perModel);
  const models = new Map<string, Settings>();
  for (const [id, change] of Object.entries(perModel ?? {}))
    models.set(id, merge(base, change, `llmRetry.perModel[${JSON.stringify(id)}]`));
  return (model) => models.get(model) ?? base;
}

function merge(base: Settings, change: ModelRetryOptions, place: string): Settings {
  if (typeof change !== 'object' || change === null) throw bad(place, 'a group of options', change);
  const set: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(change)) {
    if (!Object.hasOwn(defaults, key))
      throw new OnwardError('config/unknown-setting', `There is no option ${place}.${key}.`, {
        place: `${place}.${key}`,
        next: [`Known here: ${Object.keys(defaults).join(', ')}.`],
      });
    if (value !== undefined) set[key] = value;
  }
  const merged = set as unknown as Settings;
  check(merged, place);
  return Object.freeze({ ...merged, classes: [...merged.classes] });
}

function check(settings: Settings, place: string): void {
  for (const key of ['retries', 'unclassified'] as const) {
    const value = settings[key];
    if (value === Infinity)
      throw bad(`${place}.${key}`, `a whole number: there is no unbounded mode, at most ${highestCount}`, value);
    if (!isWhole(value, highestCount)) throw bad(`${place}.${key}`, `a whole number from 0 to ${highestCount}`, value);
  }
  for (const key of ['initialMs', 'maxMs', 'hintCapMs'] as const) {
    const value = settings[key];
    if (!isWhole(value, longestTimerMs))
      throw bad(`${place}.${key}`, `a whole number of ms from 0 to ${longestTimerMs}`, value);
  }
  const { initialMs, maxMs, jitter, classes } = settings;
  if (initialMs > maxMs) throw bad(`${place}.initialMs`, `no longer than maxMs (${maxMs})`, initialMs);
  if (typeof jitter !== 'number' || !(jitter >= 0 && jitter <= 1))
    throw bad(`${place}.jitter`, 'a share between 0 and 1', jitter);
  checkClasses(classes, `${place}.classes`);
}

function checkClasses(classes: readonly unknown[], place: string): void {
  if (!Array.isArray(classes) || classes.length === 0)
    throw bad(place, 'a list with at least one class; for no retries set retries to 0', classes);
  for (const [index, name] of classes.entries()) {
    if (retriedClasses.some((known) => known === name)) {
      if (classes.indexOf(name) === index) continue;
      throw bad(`${place}[${index}]`, 'named once', name);
    }
    const known = failureClasses.some((other) => other === name);
    const must = known
      ? `one that may pass by itself (${retriedClasses.join(', ')}); unclassified failures have an option of their own`
      : `one of ${retriedClasses.join(', ')}`;
    throw bad(`${place}[${index}]`, must, name);
  }
}

function isWhole(value: unknown, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;
}

function bad(place: string, must: string, value: unknown): OnwardError {
  const shown = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value).slice(0, 80);
  return new OnwardError('config/bad-value', `${place} must be ${must}; it is ${shown}.`, { place });
}
