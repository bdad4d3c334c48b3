import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FailureName } from './failures.ts';
import type { Attempt, Play, SignalName, PlayStep, ToolStep } from './play.ts';

/** A task that the plays below do: one shell command with an effect, then an answer. */
export interface PlayTask {
  /** The command of the tool call. It must print `evidence`, without holding it word for word. */
  readonly command: string;
  /** Text in the command's output by which a model knows that it was done. */
  readonly evidence: string;
  /** The answer at the end. */
  readonly answer: string;
}

/** A task whose effect is one line more in a file, relative to the working directory. */
export function appendTask(file = 'effects.log'): PlayTask {
  return {
    command: `echo one >> '${file}'; printf 'EFFECT_%s\\n' "OK"`,
    evidence: 'EFFECT_OK',
    answer: `The line is in ${file}.`,
  };
}

/** How the model behaves on a resume: repeats what it does not know to be done (`naive`), or never repeats what it was shown. */
export type PlayTemperament = 'naive' | 'reader' | 'checker';

/** The steps of a whole, healthy turn. */
export function taskSteps(task: PlayTask = appendTask(), temperament: PlayTemperament = 'reader'): readonly PlayStep[] {
  return [{ do: 'request' }, ...toolSteps(task, temperament), { do: 'request' }, { do: 'answer', text: task.answer }];
}

function toolSteps(task: PlayTask, temperament: PlayTemperament): readonly PlayStep[] {
  const tool: ToolStep = { do: 'tool', command: task.command };
  switch (temperament) {
    case 'naive':
      return [{ do: 'text', text: 'I do the next step.' }, tool];
    case 'reader':
      return [
        { do: 'text', text: 'I look at what was done.' },
        { ...tool, unlessSeen: task.evidence },
      ];
    case 'checker':
      return [
        { do: 'text', text: 'I look at what is there.' },
        {
          do: 'when',
          if: { file: 'effects.log', holds: 'one' },
          yes: [],
          no: [{ ...tool, unlessSeen: task.evidence }],
        },
      ];
    default:
      return temperament satisfies never;
  }
}

const attempt = (...steps: readonly PlayStep[]): Attempt => ({ steps });
const well = (task?: PlayTask, temperament?: PlayTemperament): Attempt => attempt(...taskSteps(task, temperament));

/** Nothing goes wrong. */
export function healthy(task?: PlayTask): Play {
  return { attempts: [well(task)] };
}

/** The provider fails `times` times before anything was done (the CLI's own retries are in the stream), then all is well. */
export function failsThenWell(failure: FailureName, times = 1, task?: PlayTask): Play {
  const failing = attempt(
    { do: 'request' },
    { do: 'retry', attempt: 1, of: 3, with: failure },
    { do: 'fail', with: failure },
  );
  return { attempts: [...Array<Attempt>(times).fill(failing), well(task)] };
}

/** Overload `times` times, then well. */
export function overloadedThenWell(times = 1, task?: PlayTask): Play {
  return failsThenWell('overloaded', times, task);
}

/** Overload after the tool has run and its result is saved; then well. */
export function overloadedAfterTool(task: PlayTask = appendTask()): Play {
  const failing = attempt(
    { do: 'request' },
    { do: 'tool', command: task.command },
    { do: 'request' },
    { do: 'fail', with: 'overloaded' },
  );
  return { attempts: [failing, well(task)] };
}

/** The provider fails in the same way for ever. */
export function failsForEver(failure: FailureName = 'overloaded'): Play {
  return { attempts: [attempt({ do: 'request' }, { do: 'fail', with: failure })] };
}

/**
 * The process is killed with SIGKILL inside its tool call: the effect is there, the result is not in the session. The play
 * waits for the file `ready`, which the command makes once its effect is done; then the tool goes on for ten minutes, or until
 * somebody sweeps it.
 */
export function killedInTool(task: PlayTask, ready: string, temperament: PlayTemperament = 'reader'): Play {
  const tool: ToolStep = {
    do: 'tool',
    command: `${task.command}; : > '${ready}'; exec sleep 600`,
    during: [
      { do: 'wait', for: { file: ready } },
      { do: 'kill', signal: 'SIGKILL' },
    ],
  };
  return { attempts: [attempt({ do: 'request' }, { do: 'text', text: 'I do it.' }, tool), well(task, temperament)] };
}

/**
 * The process is killed after the tool has ended and its result was printed, but before the message ended: so the session
 * on disk knows nothing of the call.
 */
export function killedInWindow(task: PlayTask = appendTask(), temperament: PlayTemperament = 'reader'): Play {
  const first = attempt(
    { do: 'request' },
    { do: 'tool', command: task.command, window: 'open' },
    { do: 'kill', signal: 'SIGKILL' },
  );
  return { attempts: [first, well(task, temperament)] };
}

/** Killed in the middle of its text, then well. */
export function killedInText(task?: PlayTask): Play {
  return {
    attempts: [
      attempt({ do: 'request' }, { do: 'delta', text: 'I will' }, { do: 'kill', signal: 'SIGKILL' }),
      well(task),
    ],
  };
}

/** Falls silent in the middle of its text and never ends by itself; `ignore` makes it deaf to signals. Then well. */
export function neverEnds(ignore: readonly ('SIGINT' | 'SIGTERM')[] = [], task?: PlayTask): Play {
  const silent: Attempt = {
    steps: [...deaf(ignore), { do: 'request' }, { do: 'delta', text: 'I will' }, { do: 'hang' }],
    interrupt: ignore.length > 0 ? 'ignore' : 'as-real',
  };
  return { attempts: [silent, well(task)] };
}

/** Before anything is printed, so that nobody can be faster. */
const deaf = (signals: readonly SignalName[]): readonly PlayStep[] =>
  signals.length === 0 ? [] : [{ do: 'ignore-signals', signals }];

/** The tool call is denied, and the CLI ends as if all were well. */
export function deniedTools(task: PlayTask = appendTask()): Play {
  return {
    attempts: [
      attempt(
        { do: 'request' },
        { do: 'denied', command: task.command },
        { do: 'request' },
        { do: 'answer', text: 'I could not run it.' },
      ),
    ],
  };
}

/** Fails once; the resume does not know the session, although it was printed; after that well. */
export function unknownSession(task?: PlayTask): Play {
  const failing = attempt({ do: 'request' }, { do: 'fail', with: 'overloaded' });
  return { attempts: [failing, { steps: [], refuse: 'unknown-session' }, well(task)] };
}

/** Prints a good result and never exits; it lives until it is killed. */
export function resultThenHang(
  ignore: readonly ('SIGINT' | 'SIGTERM')[] = ['SIGINT', 'SIGTERM'],
  task?: PlayTask,
): Play {
  return { attempts: [attempt(...deaf(ignore), ...taskSteps(task), { do: 'hang' })] };
}

/** Ends well, but leaves a process in a session of its own that holds the standard output open. */
export function grandchildHoldsStdout(pidFile: string, task?: PlayTask): Play {
  const grandchild: PlayStep = { do: 'grandchild', ownSession: true, holdStdout: true, pidFile };
  return { attempts: [attempt({ do: 'request' }, grandchild, ...taskSteps(task))] };
}

/** Words and numbers of limits in code, in tool output and in the answer; nothing is wrong. */
export function limitWordsInOutput(): Play {
  const command =
    "printf '%s\\n' 'src/retry.ts:529: throw new Error(\"429 rate limit exceeded\")' 'read 529 bytes; usage limit reached'";
  return {
    attempts: [
      attempt(
        { do: 'request' },
        {
          do: 'text',
          text: 'The code says: API Error: 529 Overloaded. Rate limit detected. You have hit your usage limit.',
        },
        { do: 'tool', command },
        { do: 'request' },
        { do: 'answer', text: 'Issue 429 is about "rate limit" handling; line 529 throws "overloaded_error".' },
      ),
    ],
  };
}

/** The CLI meets a limit, says that it tries again by itself, and it works: nobody must interfere. */
export function innerRetryHeals(times = 3, task?: PlayTask): Play {
  const retries = Array.from({ length: times }, (_, index): PlayStep => ({
    do: 'retry',
    attempt: index + 1,
    of: 5,
    with: 'throttled',
  }));
  return { attempts: [attempt({ do: 'request' }, ...retries, ...taskSteps(task))] };
}

/** The credentials are refused, for ever. */
export function authFailure(): Play {
  return failsForEver('unauthorized');
}

/** Prints its first line and dies before anything is saved; then well. */
export function initThenDies(task?: PlayTask): Play {
  return { attempts: [attempt({ do: 'kill', signal: 'SIGKILL' }), well(task)] };
}

/** Dies before it prints anything; then well. */
export function diesAtOnce(task?: PlayTask): Play {
  return { attempts: [{ steps: [{ do: 'kill', signal: 'SIGKILL' }], opening: 'none' }, well(task)] };
}

/** A usage limit that resets at `resetsAt` (epoch seconds), met after the tool has run; then well. */
export function usageLimit(resetsAt: number, task: PlayTask = appendTask()): Play {
  const limited = attempt(
    { do: 'request' },
    { do: 'tool', command: task.command },
    { do: 'request' },
    { do: 'fail', with: 'usage-limit', resetsAt },
  );
  return { attempts: [limited, well(task)] };
}

/** Bad lines of every kind among the good ones, and a true ending. */
export function garbageInBetween(hugeBytes = 1_000_000, task?: PlayTask): Play {
  const kinds = ['not-json', 'bad-utf8', 'wrong-shape', 'blank-lines'] as const;
  const junk = kinds.map((kind): PlayStep => ({ do: 'garbage', kind }));
  return {
    attempts: [
      attempt({ do: 'request' }, ...junk, { do: 'garbage', kind: 'huge-line', bytes: hugeBytes }, ...taskSteps(task)),
    ],
  };
}

/**
 * A recorded cell: its first process, then the resume. `folder` holds `stdout.jsonl`, `result.json` and, if there was
 * one, `resume.stdout.jsonl`. A process that was ended from outside falls silent instead.
 */
export function recordedCell(folder: string, session: 'verbatim' | 'rewrite' = 'rewrite'): Play {
  const result = JSON.parse(readFileSync(join(folder, 'result.json'), 'utf8')) as RecordedResult;
  const first = recordedAttempt(join(folder, 'stdout.jsonl'), result, session);
  const resume = join(folder, 'resume.stdout.jsonl');
  if (!existsSync(resume) || result.resume === undefined) return { attempts: [first] };
  return { attempts: [first, recordedAttempt(resume, result.resume, session)] };
}

interface RecordedEnd {
  readonly exit: number | null;
  readonly sig: string | null;
  readonly timedOut: boolean;
  readonly killed?: string | null;
}
interface RecordedResult extends RecordedEnd {
  readonly resume?: RecordedEnd;
}

function recordedAttempt(file: string, end: RecordedEnd, session: 'verbatim' | 'rewrite'): Attempt {
  const last: PlayStep =
    end.timedOut || end.sig === 'SIGTERM'
      ? { do: 'hang' }
      : end.sig === 'SIGKILL'
        ? { do: 'kill', signal: 'SIGKILL' }
        : { do: 'exit', code: end.exit ?? 1 };
  const errors = join(file, '..', 'stderr.txt');
  const stderr: readonly PlayStep[] =
    file.endsWith('/stdout.jsonl') && existsSync(errors) ? [{ do: 'stderr', text: readFileSync(errors, 'utf8') }] : [];
  return {
    opening: 'none',
    steps: [{ do: 'prompt' }, { do: 'request' }, { do: 'transcript', file, session }, ...stderr, last],
  };
}
