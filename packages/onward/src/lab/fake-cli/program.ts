import { dirname } from 'node:path';
import { beginClaude, claudeAtOnce } from './claude/begin.ts';
import { beginCodex, codexAtOnce } from './codex/begin.ts';
import { Input } from './input.ts';
import { Output } from './output.ts';
import { readPlay } from './parse-play.ts';
import type { Attempt, CliName, Play } from './play.ts';
import { PlayError } from './play-error.ts';
import { PlayState } from './record.ts';
import { StepRunner } from './run-steps.ts';
import { CliExit, type Ending, type Stage, type Voice } from './voice.ts';

// Reads NAME PLAY STATE ARGS... from the command line. Exit 70 means that the play is at fault.

const playAtFault = 70;

const beginnings = {
  claude: { atOnce: claudeAtOnce, begin: beginClaude },
  codex: { atOnce: codexAtOnce, begin: beginCodex },
} as const;

async function main(name: CliName, playFile: string, stateFolder: string, argv: readonly string[]): Promise<number> {
  const output = new Output();
  const play = readPlay(playFile);
  const state = new PlayState(stateFolder);
  recordStart(state, play, argv);
  const answer = beginnings[name].atOnce(argv);
  if (answer !== undefined) {
    output.raw(answer.out);
    output.error(answer.err);
    return answer.exit;
  }
  const input = new Input((text) => state.add({ event: 'stdin', text }));
  const stage: Stage = {
    output,
    input,
    state,
    interruption: new AbortController(),
    asFlags: play.permissions === 'as-flags',
  };
  const claimed: Attempt[] = [];
  const beginning = await beginnings[name].begin(stage, argv, () => {
    const attempt = claim(play, state);
    claimed.push(attempt);
    return attempt;
  });
  if (beginning.kind === 'refused') {
    state.add({ event: 'refused', why: beginning.why });
    return beginning.exit;
  }
  state.add({ event: 'session', session: beginning.voice.session });
  const attempt = claimed[0] ?? { steps: [] };
  listenToSignals(name, stage);
  return await playAttempt(attempt, stage, beginning.voice, dirname(playFile));
}

function recordStart(state: PlayState, play: Play, argv: readonly string[]): void {
  const wanted = (play.recordEnv ?? []).flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  state.add({
    event: 'start',
    pid: process.pid,
    argv,
    cwd: process.cwd(),
    envNames: Object.keys(process.env).toSorted(),
    env: Object.fromEntries(wanted),
    startedAt: Date.now(),
  });
}

function claim(play: Play, state: PlayState): Attempt {
  const number = state.claimAttempt();
  state.add({ event: 'attempt', attempt: number });
  const attempt = play.attempts[number - 1] ?? (play.after === 'refuse' ? undefined : play.attempts.at(-1));
  if (attempt !== undefined) return attempt;
  throw new PlayError('play/over', `attempts[${number - 1}]`, `the play has only ${play.attempts.length}.`);
}

/** SIGINT ends the turn. SIGTERM: Claude Code exits with 143 and without a closing line; Codex dies of it. */
function listenToSignals(name: CliName, stage: Stage): void {
  process.on('SIGINT', () => {
    stage.state.add({ event: 'signal', name: 'SIGINT' });
    stage.interruption.abort('SIGINT');
  });
  if (name === 'codex') return;
  process.on('SIGTERM', () => {
    stage.state.add({ event: 'signal', name: 'SIGTERM' });
    process.exit(143);
  });
}

async function playAttempt(attempt: Attempt, stage: Stage, voice: Voice, folder: string): Promise<number> {
  const opened = attempt.opening === 'none' ? [] : ([{ do: 'prompt' }, { do: 'opening' }] as const);
  const ending = await new StepRunner(stage, voice, folder).run([...opened, ...attempt.steps]);
  return await close(ending, voice);
}

async function close(ending: Ending, voice: Voice): Promise<number> {
  switch (ending.kind) {
    case 'exit':
      return ending.exit;
    case 'played':
      await voice.close();
      return ending.exit;
    case 'interrupted': {
      const exit = voice.interrupted(ending.why, ending.open);
      // A signal ends the process before the open message is on disk; an interrupt saves it on the way out.
      if (ending.why === 'interrupt') await voice.close();
      return exit;
    }
    default:
      return ending satisfies never;
  }
}

/** Says what went wrong as the CLI (or, for a fault of the play, as the stand-in) and gives the exit code. */
function report(error: unknown): number {
  const output = new Output();
  if (error instanceof CliExit) {
    output.error(error.said);
    return error.code;
  }
  output.error(`fake-cli: ${error instanceof PlayError ? `${error.code}: ${error.message}` : String(error)}\n`);
  return playAtFault;
}

const [name, playFile, stateFolder, ...argv] = process.argv.slice(2);
// Waiting for a promise alone does not keep a Node process alive.
setInterval(() => {}, 2 ** 30);
if ((name !== 'claude' && name !== 'codex') || playFile === undefined || stateFolder === undefined) {
  new Output().error('fake-cli: needs a name (claude or codex), a play file and a state folder.\n');
  process.exit(playAtFault);
}
const exit = await main(name, playFile, stateFolder, argv).catch(report);
new PlayState(stateFolder).add({ event: 'exit', code: exit });
process.exit(exit);
