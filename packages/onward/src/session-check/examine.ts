import { OnwardError } from '../kernel/error.ts';
import { createClaudeReader } from './claude/index.ts';
import { createCodexReader } from './codex/index.ts';
import { detectFormat } from './detect-format.ts';
import type { Finding } from './finding.ts';
import type { JsonObject } from './json-shape.ts';
import { createOnwardReader } from './onward/index.ts';
import type { OpenSession } from './open-session.ts';
import { type HistoryPlan, planRepair } from './plan-repair.ts';
import { decodeLine, type DecodedLine, hasMark, type RawLine, readLines } from './read-lines.ts';
import type { ReadSession, SessionFormat, SessionReader } from './session-reader.ts';

/** Everything that a look at a file found. */
export interface Examined {
  readonly reader: SessionReader;
  readonly session: ReadSession;
  readonly lines: number;
  /** About the file, then about the conversation. */
  readonly findings: readonly Finding[];
  readonly plan: HistoryPlan;
}

const readers: Readonly<Record<SessionFormat, () => SessionReader>> = {
  claude: createClaudeReader,
  codex: createCodexReader,
  onward: createOnwardReader,
};

/** Lines that may come before the first that says whose file it is. */
const MOST_UNKNOWN = 100;

/** Reads a file once and judges what it says. Holds what the parts are, not what they say: files may be large. */
export async function examine(open: OpenSession): Promise<Examined> {
  const findings: Finding[] = [];
  const early: { line: number; value: JsonObject }[] = [];
  let reader: SessionReader | undefined;
  let last: { readonly line: RawLine; readonly decoded: DecodedLine } | undefined;
  let lines = 0;
  for await (const line of readLines(open.file, open.size)) {
    lines = line.number;
    const decoded = decodeLine(line);
    findings.push(...lineFindings(line, decoded));
    if (decoded.kind !== 'blank') last = { line, decoded };
    if (decoded.kind !== 'value') continue;
    const { value } = decoded;
    if (reader === undefined) {
      early.push({ line: line.number, value });
      const format = detectFormat(value);
      if (format === undefined && early.length < MOST_UNKNOWN) continue;
      reader = readerOf(format, open.path);
      for (const one of early) reader.take(one.line, one.value);
    } else reader.take(line.number, value);
  }
  reader ??= readerOf(undefined, open.path);
  const session = reader.finish();
  const plan = planRepair(session.history, session.rules);
  const all = [...withTornTail(findings, last), ...session.findings, ...plan.findings];
  return { reader, session, lines, findings: all.toSorted((a, b) => a.line - b.line), plan };
}

function readerOf(format: SessionFormat | undefined, path: string): SessionReader {
  if (format !== undefined) return readers[format]();
  throw new OnwardError('session/unknown-format', 'This is no session file of Claude Code, Codex or Onward.', {
    place: path,
    next: [
      'Claude Code keeps them in ~/.claude/projects/FOLDER/ID.jsonl',
      'Codex keeps them in ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl',
    ],
  });
}

function lineFindings(line: RawLine, decoded: DecodedLine): readonly Finding[] {
  const { number } = line;
  const mend = { line: number, repair: { do: 'mend-line', line: number } } as const;
  const found: Finding[] = [];
  if (hasMark(line))
    found.push({ ...mend, kind: 'byte-order-mark', says: 'The file begins with a byte order mark, which is no JSON.' });
  if (decoded.kind === 'value' && decoded.mended)
    found.push({ ...mend, kind: 'invalid-utf8', says: 'Some bytes of this line are no UTF-8.' });
  if (decoded.kind === 'unreadable') {
    const repair = { do: 'drop-line', line: number } as const;
    found.push({ kind: 'unreadable-line', line: number, says: `This line ${decoded.why}: it cannot be read.`, repair });
  }
  return found;
}

/** A last line without its end that cannot be read was cut while it was written. */
function withTornTail(
  findings: readonly Finding[],
  last: { readonly line: RawLine; readonly decoded: DecodedLine } | undefined,
): readonly Finding[] {
  if (last?.decoded.kind !== 'unreadable' || last.line.ended || last.line.bytes === undefined) return findings;
  return findings.map((finding) => {
    if (finding.kind !== 'unreadable-line' || finding.line !== last.line.number) return finding;
    const says = `The last line was cut off after ${last.line.length} bytes while it was written.`;
    return { ...finding, kind: 'torn-tail', says };
  });
}
