import { randomBytes } from 'node:crypto';
import { CliExit, type Beginning, type Opening, type Stage } from '../voice.ts';
import { parseCodexArgs, type CodexArgs } from './args.ts';
import { codexVersion } from './lines.ts';
import { Rollout } from './rollout.ts';
import { CodexVoice } from './voice.ts';

/** What Codex answers at once: its version, or what is wrong with the command line (exit 2). */
export function codexAtOnce(
  argv: readonly string[],
): { readonly out: string; readonly err: string; readonly exit: number } | undefined {
  const parsed = parseCodexArgs(argv);
  if (!parsed.ok) return { out: '', err: `${parsed.error}\n\nFor more information, try '--help'.\n`, exit: 2 };
  return parsed.args.version ? { out: `codex-cli ${codexVersion}\n`, err: '', exit: 0 } : undefined;
}

/**
 * Reads the prompt, looks for the thread and takes its lock, as Codex does before it prints anything; `claim` takes the
 * next attempt of the play.
 */
export async function beginCodex(stage: Stage, argv: readonly string[], claim: () => Opening): Promise<Beginning> {
  const parsed = parseCodexArgs(argv);
  if (!parsed.ok) throw new Error(parsed.error);
  const { args } = parsed;
  const prompt = await readPrompt(stage, args.prompt);
  const id = args.resume ?? threadId();
  const found = args.resume === undefined ? Rollout.create(id) : Rollout.find(id);
  const unknown = `no rollout found for thread id ${id} (code -32600)`;
  const locked = `thread ${id} already has an active writer (code -32600)`;
  if (found === undefined) return refused(stage, unknown);
  if (!found.lock()) return refused(stage, locked);
  const opening = claim();
  if (opening.refuse !== undefined) {
    found.unlock();
    if (opening.refuse === 'not-logged-in') return refused(stage, 'Not logged in. Run `codex login`.');
    return refused(stage, opening.refuse === 'unknown-session' ? unknown : locked);
  }
  stage.state.add({ event: 'prompt', text: prompt });
  if (opening.swapSession !== true) return speaking(stage, args, { rollout: found, id, prompt });
  found.unlock();
  const other = threadId();
  const rollout = Rollout.create(other);
  rollout.lock();
  return speaking(stage, args, { rollout, id: other, prompt });
}

function speaking(stage: Stage, args: CodexArgs, thread: { rollout: Rollout; id: string; prompt: string }): Beginning {
  return { kind: 'voice', voice: new CodexVoice(stage, args, thread) };
}

async function readPrompt(stage: Stage, asked: string | undefined): Promise<string> {
  const given = asked === '-' ? undefined : asked;
  if (given !== undefined && !process.stdin.isTTY) stage.output.error('Reading additional input from stdin...\n');
  const piped = process.stdin.isTTY ? '' : (await stage.input.all()).trim();
  if (given !== undefined) return piped === '' ? given : `${given}\n\n<stdin>\n${piped}\n</stdin>`;
  if (piped === '') throw new CliExit(1, 'No prompt provided via stdin.\n');
  return piped;
}

function refused(stage: Stage, why: string): Beginning {
  stage.output.error(`Error: thread/resume: thread/resume failed: ${why}\n`);
  return { kind: 'refused', why, exit: 1 };
}

/** A UUID version 7, as Codex makes them. */
function threadId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  const rest = randomBytes(10).toString('hex');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-a${rest.slice(3, 6)}-${rest.slice(6, 18)}`;
}
