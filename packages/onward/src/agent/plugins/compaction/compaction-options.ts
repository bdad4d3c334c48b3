import { OnwardError } from '../../../kernel/error.ts';

/** Options of `compaction`. */
export interface CompactionOptions {
  /**
   * Before a request: above this share of the model's context window the history is compacted, and of its end as much as fits into
   * `keep` of the window is left as it is. False = never. Default 0.8 and 0.16. Needs the model's `contextTokens`.
   */
  readonly pressure?: false | { readonly above?: number; readonly keep?: number };
  /** Repairs after an overflow in a row, until an answer is committed or a prompt begins. 0 = none. Default 1. */
  readonly overflow?: number;
  /** Compactions of one prompt in all, whatever they were for. Default 20. */
  readonly perPrompt?: number;
  /** Results of tools with more characters of JSON are cut first. Default 8,000. */
  readonly pruneAbove?: number;
  /**
   * Images and files over this many bytes are replaced by a note when a request with them is refused. Default 3,900,000: what
   * Anthropic's limit of 5 MB for the base64 of an image leaves.
   */
  readonly mediaBytes?: number;
}

/** The options with nothing left open. */
export interface Settings {
  readonly pressure: false | { readonly above: number; readonly keep: number };
  readonly overflow: number;
  readonly perPrompt: number;
  readonly pruneAbove: number;
  readonly mediaBytes: number;
}

/** Fills in and checks. Throws `config/bad-value` or `config/unknown-setting` with the place. */
export function resolveCompaction(options: CompactionOptions): Settings {
  if (!isRecord(options)) throw bad('options', 'an object', options);
  const { pressure, overflow = 1, perPrompt = 20, pruneAbove = 8_000, mediaBytes = 3_900_000, ...unknown } = options;
  refuseUnknown('', unknown);
  count('overflow', overflow, 0, 100);
  count('perPrompt', perPrompt, 0, 1_000);
  count('pruneAbove', pruneAbove, 200, 1e9);
  count('mediaBytes', mediaBytes, 1, 1e12);
  return { pressure: shares(pressure), overflow, perPrompt, pruneAbove, mediaBytes };
}

function shares(pressure: CompactionOptions['pressure']): Settings['pressure'] {
  if (pressure === false) return false;
  if (pressure !== undefined && !isRecord(pressure))
    throw bad('pressure', 'false, or shares of the context window', pressure);
  const { above = 0.8, keep = 0.16, ...unknown } = pressure ?? {};
  refuseUnknown('pressure.', unknown);
  if (!(isNumber(above) && above > 0 && above <= 1)) throw bad('pressure.above', 'a share above 0, at most 1', above);
  if (!(isNumber(keep) && keep >= 0 && keep < above))
    throw bad('pressure.keep', `a share from 0 to below pressure.above (${above})`, keep);
  return { above, keep };
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function refuseUnknown(path: string, unknown: object): void {
  const [stranger] = Object.keys(unknown);
  if (stranger === undefined) return;
  const place = `compaction.${path}${stranger}`;
  throw new OnwardError('config/unknown-setting', `There is no setting ${place}.`, { place });
}

function count(name: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return;
  throw bad(name, `a whole number from ${least} to ${most}`, value);
}

function bad(name: string, must: string, value: unknown): OnwardError {
  const place = `compaction.${name}`;
  return new OnwardError(
    'config/bad-value',
    `${place} must be ${must}; it is ${JSON.stringify(value) ?? String(value)}.`,
    {
      place,
    },
  );
}
