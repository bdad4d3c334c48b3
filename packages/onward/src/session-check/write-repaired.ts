import { type FileHandle, link, lstat, open, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isOnwardError, OnwardError } from '../kernel/error.ts';
import type { Ids } from '../kernel/ports.ts';
import { type Examined, examine } from './examine.ts';
import type { Finding } from './finding.ts';
import { type OpenSession, withSession } from './open-session.ts';
import { type RawLine, readLines, textOf } from './read-lines.ts';
import type { LineChanges, SessionReader } from './session-reader.ts';

/** What a repaired copy is like. */
export interface RepairedCopy {
  readonly path: string;
  /** Of the original: changed or left out. */
  readonly changedLines: readonly number[];
  readonly addedLines: number;
  /** Findings that only came up while others were repaired. */
  readonly consequences: readonly Finding[];
}

/** What a copy is made of. */
export interface CopyInput {
  readonly open: OpenSession;
  readonly examined: Examined;
  readonly to: string;
  readonly ids: Ids;
}

const NEWLINE = Buffer.from('\n');
const FLUSH_AT = 1024 * 1024;

/**
 * Writes the repaired copy of a session beside it: complete and on the disk, or not at all. Throws `session/target` when there is
 * something at `to`, `session/not-repairable` when the copy would still be refused. The original is only read.
 */
export async function writeRepaired(input: CopyInput): Promise<RepairedCopy> {
  const { to, ids } = input;
  await assertFree(input);
  const temporary = `${to}.${ids.uuid()}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    let copied: Omit<RepairedCopy, 'path'>;
    try {
      copied = await copyLines(input, file);
      await file.sync();
    } finally {
      await file.close();
    }
    await input.open.unchanged();
    await assertClean(temporary, input.open.path);
    await publish(temporary, to);
    return { path: to, ...copied };
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw isOnwardError(error) ? error : writeFailed(to, error);
  }
}

async function assertFree({ open: { path, file }, to }: CopyInput): Promise<void> {
  const there = await lstat(to).catch(() => undefined);
  if (there === undefined) return;
  const same = await stat(to).catch(() => undefined);
  const own = await file.stat();
  const isSame = same?.ino === own.ino && same.dev === own.dev;
  const sentence = isSame
    ? 'The original is never written: name another file.'
    : 'There is something at this path already.';
  throw new OnwardError('session/target', sentence, {
    place: to,
    next: [`onward session check ${path} --repair -o NEW`],
  });
}

/** Line by line; what is not named by the plan goes through byte for byte. */
async function copyLines(input: CopyInput, file: FileHandle): Promise<Omit<RepairedCopy, 'path'>> {
  const { open: source, examined, ids } = input;
  const { session, plan, reader, findings } = examined;
  const rewrite = session.plan(plan.repairs, ids);
  const outer = lineRepairs(findings);
  const changes = rewrite.write(await readTexts(source, rewrite.needs));
  const writer = createWriter(file, reader);
  const changedLines: number[] = [];
  let addedLines = 0;
  for await (const line of readLines(source.file, source.size)) {
    const isLost = line.number >= outer.cutFrom || outer.dropped.has(line.number);
    const { before, own, after } = isLost ? lost : newLine(line, changes, outer.mended);
    if (own === undefined || line.bytes?.equals(own) !== true) changedLines.push(line.number);
    addedLines += before.length + after.length;
    for (const bytes of [...before, ...(own === undefined ? [] : [own]), ...after])
      // oxlint-disable-next-line no-await-in-loop -- one line after the other is the point
      await writer.line(bytes, line.ended);
  }
  await writer.flush();
  return { changedLines, addedLines, consequences: plan.consequences };
}

interface NewLine {
  readonly before: readonly Buffer[];
  readonly own: Buffer | undefined;
  readonly after: readonly Buffer[];
}

const lost: NewLine = { before: [], own: undefined, after: [] };

function newLine(line: RawLine, changes: LineChanges, mended: ReadonlySet<number>): NewLine {
  const change = changes.get(line.number);
  if (change === undefined) {
    const own = mended.has(line.number) ? Buffer.from(textOf(line)) : line.bytes;
    return { before: [], own, after: [] };
  }
  // The end of the line is that of the file: a carriage return belongs to it.
  const end = line.bytes?.at(-1) === 13 ? '\r' : '';
  const toBytes = (text: string): Buffer => Buffer.from(text.endsWith(end) ? text : `${text}${end}`);
  return {
    before: change.before.map(toBytes),
    own: change.own === undefined ? undefined : toBytes(change.own),
    after: change.after.map(toBytes),
  };
}

interface LineRepairs {
  readonly dropped: ReadonlySet<number>;
  readonly mended: ReadonlySet<number>;
  readonly cutFrom: number;
}

function lineRepairs(findings: readonly Finding[]): LineRepairs {
  const dropped = new Set<number>();
  const mended = new Set<number>();
  let cutFrom = Infinity;
  for (const { repair } of findings) {
    if (repair.do === 'drop-line') dropped.add(repair.line);
    if (repair.do === 'mend-line') mended.add(repair.line);
    if (repair.do === 'cut') cutFrom = Math.min(cutFrom, repair.from);
  }
  return { dropped, mended, cutFrom };
}

async function readTexts(source: OpenSession, needs: ReadonlySet<number>): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  if (needs.size === 0) return texts;
  for await (const line of readLines(source.file, source.size))
    if (needs.has(line.number)) texts.set(line.number, textOf(line));
  return texts;
}

interface LineWriter {
  line(bytes: Buffer, ended: boolean): Promise<void>;
  flush(): Promise<void>;
}

/** Gathers lines into writes of about a megabyte. A line gets its end when another follows, or when it had one. */
function createWriter(file: FileHandle, { renumber }: SessionReader): LineWriter {
  let parts: Buffer[] = [];
  let size = 0;
  let isOpen = false;
  let last: number | undefined;
  const numbered = (bytes: Buffer): Buffer => {
    if (renumber === undefined || isBlank(bytes)) return bytes;
    const text = bytes.toString();
    const made = renumber(text, last);
    last = made.last;
    return made.text === text ? bytes : Buffer.from(made.text);
  };
  const flush = async (): Promise<void> => {
    if (parts.length > 0) await file.writev(parts);
    parts = [];
    size = 0;
  };
  return {
    async line(bytes, ended) {
      const own = numbered(bytes);
      parts.push(...(isOpen ? [NEWLINE] : []), own, ...(ended ? [NEWLINE] : []));
      isOpen = !ended;
      size += own.length;
      if (size > FLUSH_AT) await flush();
    },
    flush,
  };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < 100 && bytes.toString().trim() === '';
}

/** Nothing is handed out that would be refused again. */
async function assertClean(path: string, original: string): Promise<void> {
  const left = await withSession(path, async (copy) => (await examine(copy)).findings).catch((error: unknown) => {
    if (isOnwardError(error, 'session/unreadable') || isOnwardError(error, 'session/unknown-format')) return undefined;
    throw error;
  });
  if (left?.length === 0) return;
  const [first] = left ?? [];
  const why = first === undefined ? 'nothing would be left of it' : `${first.kind} would be left: ${first.says}`;
  throw new OnwardError('session/not-repairable', `The session cannot be repaired: ${why}`, {
    place: original,
    next: ['The original is as it was. Start a new session from what it says.'],
  });
}

/** Never over a file that came into being meanwhile. */
async function publish(temporary: string, to: string): Promise<void> {
  try {
    await link(temporary, to);
    await unlink(temporary);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new OnwardError('session/target', 'There is something at this path already.', { place: to, cause: error });
    // Some file systems have no hard links.
    await rename(temporary, to);
  }
  const folder = await open(dirname(to), 'r');
  await folder.sync().catch(() => undefined);
  await folder.close();
}

function writeFailed(to: string, cause: unknown): OnwardError {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === undefined) throw cause;
  return new OnwardError('session/target', `The copy cannot be written (${code}).`, {
    place: to,
    next: ['Name another place with -o.'],
    cause,
  });
}
