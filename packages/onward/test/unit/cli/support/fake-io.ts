import type { Io } from '../../../../src/cli/io.ts';

/** Streams of a command that only remember. */
export interface FakeIo extends Io {
  readonly outLines: readonly string[];
  readonly errLines: readonly string[];
  /** Every state of the line that is redrawn. */
  readonly statuses: readonly string[];
}

/** A terminal or not; colours are marked as `<red:...>` when asked for. */
export function createFakeIo(options: { readonly isTerminal?: boolean; readonly marked?: boolean } = {}): FakeIo {
  const outLines: string[] = [];
  const errLines: string[] = [];
  const statuses: string[] = [];
  return {
    outLines,
    errLines,
    statuses,
    out: (text) => void outLines.push(text),
    write: (text) => void outLines.push(text),
    json: (value) => void outLines.push(JSON.stringify(value)),
    err: (text) => void errLines.push(text),
    status: (text) => void statuses.push(text),
    drained: () => Promise.resolve(),
    gone: new AbortController().signal,
    env: {},
    cwd: '/somewhere',
    isTerminal: options.isTerminal ?? false,
    isOutTerminal: false,
    color: (style, text) => (options.marked === true ? `<${style}:${text}>` : text),
    hint: (words) => `onward ${words}`,
  };
}
