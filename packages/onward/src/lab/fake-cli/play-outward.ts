import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { writeGarbage } from './garbage.ts';
import type { Condition, GrandchildStep, OutwardStep, SignalName, PlayStep, TranscriptStep, WaitFor } from './play.ts';
import { PlayError } from './play-error.ts';
import type { PlayState } from './record.ts';
import { runQuietly, startGrandchild } from './shell.ts';
import { Ended, type Stage, type Voice } from './voice.ts';

/** What outward steps need of the one who plays them. */
export interface Hands {
  readonly stage: () => Stage;
  readonly voice: () => Voice;
  /** Folder of the play, where relative transcripts start. */
  readonly folder: () => string;
  readonly steps: (steps: readonly PlayStep[]) => Promise<void>;
  /** Waits for the work, or throws `Ended` when the turn is ended from outside. */
  readonly unlessInterrupted: <T>(work: Promise<T>) => Promise<T>;
}

/** Plays a step that concerns the process, its output or its files. */
export async function playOutward(step: OutwardStep, hands: Hands): Promise<void> {
  const { output } = hands.stage();
  switch (step.do) {
    case 'lines':
      return output.raw(step.lines.map((line) => `${line}\n`).join(''));
    case 'transcript':
      return output.raw(transcript(step, hands));
    case 'stderr':
      return output.error(step.text);
    case 'garbage':
      return writeGarbage(output, step.kind, step.bytes);
    case 'wait':
      return await wait(step.for, hands);
    case 'hang':
      ignoreSignals(step.ignore ?? [], hands.stage().state);
      return await hands.unlessInterrupted(forever());
    case 'ignore-signals':
      return ignoreSignals(step.signals, hands.stage().state);
    case 'exit':
      throw new Ended({ kind: 'exit', exit: step.code });
    case 'kill':
      return await killSelf(step.signal, step.group === true);
    case 'grandchild':
      return grandchild(step);
    case 'run':
      return await hands.unlessInterrupted(runQuietly(step.command));
    case 'damage-session':
      return hands.voice().damage(step.how);
    case 'when':
      return await hands.steps((await holds(step.if, hands)) ? step.yes : (step.no ?? []));
    case 'repeat':
      return await repeat(step.times, step.steps, hands);
    default:
      return step satisfies never;
  }
}

async function repeat(times: number, steps: readonly PlayStep[], hands: Hands): Promise<void> {
  for (let time = 0; time < times; time++) {
    // Lets signals and requests in now and then.
    if (time % 1000 === 999) await hands.unlessInterrupted(new Promise((turn) => setImmediate(turn)));
    await hands.steps(steps);
  }
}

function transcript(step: TranscriptStep, hands: Hands): Buffer | string {
  const file = isAbsolute(step.file) ? step.file : resolve(hands.folder(), step.file);
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (cause) {
    throw new PlayError('play/missing', file, 'the transcript cannot be read.', cause);
  }
  if (step.session !== 'rewrite') return content;
  return content.toString('utf8').replaceAll(/[^\n]+/g, (line) => hands.voice().rewrite(line));
}

async function wait(what: WaitFor, hands: Hands): Promise<void> {
  if (what === 'stdin-eof') return await hands.unlessInterrupted(hands.stage().input.untilEnd());
  if (what === 'interrupt') return await hands.unlessInterrupted(forever());
  if (what === 'next-prompt') return await hands.unlessInterrupted(hands.voice().nextPrompt());
  while (!existsSync(what.file)) await hands.unlessInterrupted(aMoment());
}

async function holds(condition: Condition, hands: Hands): Promise<boolean> {
  if ('seen' in condition) return hands.voice().visible().includes(condition.seen);
  if ('prompt' in condition) return (await hands.voice().prompt()).includes(condition.prompt);
  if (!existsSync(condition.file)) return false;
  return !('holds' in condition) || readFileSync(condition.file, 'utf8').includes(condition.holds);
}

const forever = (): Promise<never> => new Promise<never>(() => {});
const aMoment = (): Promise<void> => new Promise((wake) => setTimeout(wake, 5));

/** From now on these signals are noted and do nothing. SIGKILL and SIGSTOP cannot be ignored. */
function ignoreSignals(signals: readonly SignalName[], state: PlayState): void {
  for (const signal of signals) {
    process.removeAllListeners(signal);
    process.on(signal, () => state.add({ event: 'signal', name: signal }));
  }
}

async function killSelf(signal: SignalName, group: boolean): Promise<void> {
  process.kill(group ? 0 : process.pid, signal);
  if (signal === 'SIGKILL') await forever();
  // Signals with a handler arrive in a later turn of the event loop.
  await aMoment();
}

function grandchild(step: GrandchildStep): void {
  const pid = startGrandchild(step.command, step);
  if (step.pidFile !== undefined && pid !== undefined) writeFileSync(step.pidFile, String(pid));
}
