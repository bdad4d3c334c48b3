import { basename, resolve } from 'node:path';
import { OnwardError } from '../../kernel/error.ts';
import { systemIds } from '../../processes/index.ts';
import {
  checkSession,
  describeRepair,
  type Finding,
  type SessionFormat,
  type SessionReport,
} from '../../session-check/index.ts';
import { counted } from '../describe-run.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { oneLine } from '../plain-text.ts';

/** Flags of `onward session check`. */
export interface SessionCheckFlags {
  readonly repair?: boolean;
  readonly output?: string;
  readonly json?: boolean;
}

/** More would be read by nobody; `--json` has them all. */
const MOST_SHOWN = 50;

const names: Readonly<Record<SessionFormat, string>> = {
  claude: 'a session of Claude Code',
  codex: 'a session of Codex',
  onward: 'a session of Onward',
};

/** `onward session check FILE`: 0 when nothing would be refused or a repaired copy was written, else 1. */
export async function sessionCheck(io: Io, file: string, flags: SessionCheckFlags): Promise<number> {
  const path = resolve(io.cwd, file);
  if (flags.output !== undefined && flags.repair !== true)
    throw new OnwardError('cli/usage', 'There is only a copy to be put somewhere with --repair.', {
      place: '-o',
      next: [`onward session check ${file} --repair -o ${flags.output}`],
    });
  const to = flags.output === undefined ? `${path}.repaired.jsonl` : resolve(io.cwd, flags.output);
  const repair = flags.repair === true ? { repair: { to, always: flags.output !== undefined } } : {};
  const report = await checkSession({ file: path, ids: systemIds, ...repair });
  if (flags.json === true) io.json(asJson(report));
  else print(io, report, file);
  const isClean = report.findings.length === 0 || report.repaired !== undefined;
  return isClean ? exitCodes.done.code : exitCodes.failed.code;
}

function asJson(report: SessionReport): object {
  const { file, format, session, lines, findings, repaired } = report;
  return {
    file,
    format,
    session: session ?? null,
    lines,
    clean: findings.length === 0,
    findings: findings.map(asJsonFinding),
    repaired: repaired === undefined ? null : { ...repaired, consequences: repaired.consequences.map(asJsonFinding) },
  };
}

function asJsonFinding({ kind, line, id, says, repair }: Finding): object {
  return { line, kind, id: id ?? null, says, repair: describeRepair(repair) };
}

function print(io: Io, report: SessionReport, file: string): void {
  const { findings, repaired, format, lines } = report;
  io.out(`${basename(file)}: ${names[format]}, ${counted(lines, 'line')}`);
  for (const finding of findings.slice(0, MOST_SHOWN)) printFinding(io, finding);
  if (findings.length > MOST_SHOWN) io.out(`  and ${findings.length - MOST_SHOWN} more; --json lists them all`);
  if (findings.length === 0) io.out('Nothing in it would be refused.');
  else io.out(`${counted(findings.length, 'finding')}.`);
  if (repaired !== undefined) {
    if (repaired.consequences.length > 0) io.out('Repaired as well, since it came of that:');
    for (const finding of repaired.consequences.slice(0, MOST_SHOWN)) printFinding(io, finding);
    const changed = `${counted(repaired.changedLines.length, 'line')} changed or left out, ${repaired.addedLines} added`;
    io.out(`Repaired copy: ${repaired.path} (${changed}; the original is as it was)`);
  } else if (findings.length > 0) io.err(`  ${io.hint(`session check ${file} --repair`)}   writes a repaired copy`);
}

function printFinding(io: Io, finding: Finding): void {
  io.out(`  line ${finding.line}  ${finding.kind}: ${oneLine(finding.says, 300)}`);
  io.out(`    repair: ${describeRepair(finding.repair)}`);
}
