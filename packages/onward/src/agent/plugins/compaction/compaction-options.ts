import { OnwardError } from '../../../kernel/error.ts';

/** Options of `compaction`. */
export interface CompactionOptions {
  /**
   * Before a request: above this share of the model's context window the history is compacted, and the newest `keep` of the window
   * is left as it is. False = never. Default 0.8 and 0.16. Needs the model's `contextTokens`.
   */
  readonly pressure?: false | { readonly above?: number; readonly keep?: number };
  /** Repairs after an overflow in a row, until an answer is committed or a prompt begins. 0 = none. Default 1. */
  readonly overflow?: number;
  /** Compactions of one prompt in all, whatever they were for. Default 20. */
  readonly perPrompt?: number;
  /** Results of tools with more characters of JSON are cut first. Default 8,000. */
  readonly pruneAbove?: number;
  /** Images and files over this many bytes are replaced by a note when a request with them is refused. Default 5,000,000. */
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
  const { pressure, overflow = 1, perPrompt = 20, pruneAbove = 8_000, mediaBytes = 5_000_000, ...unknown } = options;
  const [stranger] = Object.keys(unknown);
  if (stranger !== undefined)
    throw new OnwardError('config/unknown-setting', `There is no setting compaction.${stranger}.`, {
      place: `compaction.${stranger}`,
    });
  count('overflow', overflow, 0, 100);
  count('perPrompt', perPrompt, 0, 1_000);
  count('pruneAbove', pruneAbove, 200, 1e9);
  count('mediaBytes', mediaBytes, 1, 1e12);
  return { pressure: shares(pressure), overflow, perPrompt, pruneAbove, mediaBytes };
}

function shares(pressure: CompactionOptions['pressure']): Settings['pressure'] {
  if (pressure === false) return false;
  if (pressure !== undefined && (typeof pressure !== 'object' || pressure === null))
    throw bad('pressure', 'false, or shares of the context window', pressure);
  const { above = 0.8, keep = 0.16 } = pressure ?? {};
  if (!(above > 0 && above <= 1)) throw bad('pressure.above', 'a share above 0, at most 1', above);
  if (!(keep >= 0 && keep < above)) throw bad('pressure.keep', `a share below pressure.above (${above})`, keep);
  return { above, keep };
}

function count(name: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return;
  throw bad(name, `a whole number from ${least} to ${most}`, value);
}

function bad(name: string, must: string, value: unknown): OnwardError {
  const place = `compaction.${name}`;
  return new OnwardError('config/bad-value', `${place} must be ${must}; it is ${String(value)}.`, { place });
}
