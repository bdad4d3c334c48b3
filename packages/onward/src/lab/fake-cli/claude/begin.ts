import { randomUUID } from 'node:crypto';
import type { Opening, Beginning, Stage } from '../voice.ts';
import { parseClaudeArgs, type ClaudeArgs } from './args.ts';
import { claudeVersion, resultLine } from './lines.ts';
import { SessionFile } from './session-file.ts';
import { ClaudeVoice } from './voice.ts';

/** What Claude Code answers at once: its version, or what is wrong with the command line. */
export function claudeAtOnce(
  argv: readonly string[],
): { readonly out: string; readonly err: string; readonly exit: number } | undefined {
  const parsed = parseClaudeArgs(argv);
  if (!parsed.ok) return { out: '', err: `${parsed.error}\n`, exit: 1 };
  if (parsed.args.version) return { out: `${claudeVersion} (Claude Code)\n`, err: '', exit: 0 };
  const err = wrongCombination(parsed.args);
  return err === undefined ? undefined : { out: '', err: `${err}\n`, exit: 1 };
}

function wrongCombination(args: ClaudeArgs): string | undefined {
  if (!args.print) return 'This stand-in plays only `claude -p`.';
  if (args.outputFormat === 'stream-json' && !args.verbose) {
    return 'Error: When using --print, --output-format=stream-json requires --verbose';
  }
  if (args.inputFormat === 'stream-json' && args.outputFormat !== 'stream-json') {
    return 'Error: --input-format=stream-json requires output-format=stream-json.';
  }
  const id = args.sessionId;
  if (id !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id))
    return 'Error: Invalid session ID. Must be a valid UUID.';
  if (id !== undefined && args.resume !== undefined) {
    return 'Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.';
  }
  return undefined;
}

/** Looks for the session, as Claude Code does before it prints anything; `claim` takes the next attempt of the play. */
export function beginClaude(stage: Stage, argv: readonly string[], claim: () => Opening): Beginning {
  const parsed = parseClaudeArgs(argv);
  if (!parsed.ok) throw new Error(parsed.error);
  const { args } = parsed;
  const asked = args.resume ?? args.sessionId ?? randomUUID();
  const file = new SessionFile(asked);
  if (args.resume !== undefined && file.lines().length === 0) return unknownSession(stage, asked, args);
  const inUse = `Error: Session ID ${asked} is already in use.`;
  if (args.sessionId !== undefined && file.exists()) return refused(stage, inUse, 'stderr');
  const opening = claim();
  if (opening.refuse === 'unknown-session') return unknownSession(stage, asked, args);
  if (opening.refuse === 'not-logged-in') return refused(stage, 'Invalid API key · Please run /login', 'stdout');
  if (opening.refuse !== undefined) return refused(stage, inUse, 'stderr');
  const session = opening.swapSession === true ? randomUUID() : asked;
  return { kind: 'voice', voice: new ClaudeVoice(stage, { args, file: new SessionFile(session), session, opening }) };
}

function refused(stage: Stage, why: string, where: 'stdout' | 'stderr'): Beginning {
  if (where === 'stderr') stage.output.error(`${why}\n`);
  else stage.output.raw(`${why}\n`);
  return { kind: 'refused', why, exit: 1 };
}

/** Said on both outputs; the closing line names the session that was asked for, and has no reason of its ending. */
function unknownSession(stage: Stage, id: string, args: ClaudeArgs): Beginning {
  const why = `No conversation found with session ID: ${id}`;
  const {
    terminal_reason: _reason,
    fast_mode_state: _mode,
    api_error_status: _status,
    ...line
  } = resultLine(
    id,
    { completed: 0, turns: 0, model: args.model, denials: [] },
    {
      subtype: 'error_during_execution',
      is_error: true,
      duration_ms: 0,
      duration_api_ms: 0,
      stop_reason: null,
      errors: [why],
    },
  );
  if (args.outputFormat === 'stream-json') stage.output.json(line);
  stage.output.error(`${why}\n`);
  return { kind: 'refused', why, exit: 1 };
}
