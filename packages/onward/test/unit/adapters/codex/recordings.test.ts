import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { classify } from '../../../../src/kernel/classify.ts';
import type { Failure, FailureClass } from '../../../../src/kernel/failure.ts';
import type { ProcessEnding } from '../../../../src/supervisor/adapter.ts';
import { codexAdapter } from '../../../../src/supervisor/adapters/codex/index.ts';

const root = join(import.meta.dirname, '../../../transcripts/codex');

interface Recorded {
  readonly cell: string;
  readonly exit: number | null;
  readonly sig: string | null;
  readonly timedOut: boolean;
  readonly killed: string | null;
  readonly finalOkInRun: boolean;
  readonly resume?: { readonly exit: number | null; readonly sig: string | null; readonly finalOk: boolean };
}

type Expected = FailureClass | 'ok';

/** The class that follows from what was injected (the first part of the cell's name), and nothing else. */
const injected: Readonly<Record<string, FailureClass>> = {
  e400: 'input',
  e401: 'auth',
  e403: 'auth',
  e404: 'input',
  e413: 'overflow',
  e429: 'throttled',
  e429ra: 'throttled',
  e429long: 'throttled',
  e500: 'transient',
  e529: 'transient',
  'chain-e500x3': 'transient',
  usage: 'quota',
  quota: 'billing',
  ctx: 'overflow',
  errs_api: 'transient',
  errs_ctx: 'overflow',
  errs_quota: 'billing',
  errs_rate: 'throttled',
  err_text: 'transient',
  err_tool: 'transient',
  err_aftertool: 'transient',
  cut_text: 'transient',
  cut_textdone: 'transient',
  cut_tool: 'transient',
  cut_aftertool: 'transient',
  stall_text: 'transient',
  stall_headers: 'transient',
  stall_aftertool: 'transient',
  ping: 'transient',
  reset: 'transient',
  down: 'transient',
  down30: 'transient',
  empty: 'transient',
  empty_body: 'transient',
  stop_max_output_tokens: 'incomplete',
};

/** Cells whose class does not follow from a fault of the provider, each with the reason. */
const exceptions: Readonly<
  Record<string, { readonly run?: Expected; readonly resume?: Expected; readonly why: string }>
> = {
  'resume-while-first-alive': {
    run: 'crash',
    why: 'the recorder ended the first process by SIGTERM once the second one had been refused; no stall was waited for',
  },
  'kill9-aftertooljson-r1': {
    resume: 'conflict',
    why: 'only the wrapper was killed; its orphan still held the thread',
  },
  'kill9-midtext-r1': { resume: 'conflict', why: 'only the wrapper was killed; its orphan still held the thread' },
  'kill9-midtext-r2': { resume: 'conflict', why: 'only the wrapper was killed; its orphan still held the thread' },
  'kill9-midtooljson-r1': { resume: 'conflict', why: 'only the wrapper was killed; its orphan still held the thread' },
};

function expectedRun(recorded: Recorded): Expected {
  const exception = exceptions[recorded.cell]?.run;
  if (exception !== undefined) return exception;
  if (recorded.killed !== null) return 'crash';
  if (recorded.exit === 0 && recorded.finalOkInRun) return 'ok';
  const fault = recorded.cell.startsWith('chain-e500x3') ? 'chain-e500x3' : (recorded.cell.split('-')[0] ?? '');
  const found = injected[fault];
  if (found === undefined) throw new Error(`no class for the fault ${fault} of ${recorded.cell}`);
  return found;
}

function expectedResume(recorded: Recorded): Expected {
  return exceptions[recorded.cell]?.resume ?? 'ok';
}

/** What the coordinator would have found: its idle watchdog where the recorder's time was up, else the missing end. */
function coordinatorFailure(recorded: Recorded, ended: boolean): Failure | undefined {
  if (recorded.timedOut) return { process: 'idle-timeout', message: 'no sign of life' };
  return ended ? undefined : { process: 'ended-without-result', message: 'ended without a result' };
}

function read(cell: string, file: string): string {
  const path = join(root, cell, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function judge(
  stdout: string,
  ending: (ended: boolean) => ProcessEnding,
): { readonly verdict: Expected; readonly id?: string } {
  const reader = codexAdapter.reader();
  const seen = stdout
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => reader.line(line));
  const end = reader.ending(ending(seen.some((observation) => observation.kind === 'result')));
  const id = reader.target();
  return { verdict: end.ok ? 'ok' : classify(end.failure).class, ...(id === undefined ? {} : { id }) };
}

function judgeRun(recorded: Recorded): { readonly verdict: Expected; readonly id?: string } {
  return judge(read(recorded.cell, 'stdout.jsonl'), (ended) => {
    const failure = coordinatorFailure(recorded, ended);
    return {
      exit: { code: recorded.exit, signal: recorded.sig },
      ...(failure === undefined ? {} : { failure }),
      stderr: read(recorded.cell, 'stderr.txt'),
      session: '',
      mode: 'create',
    };
  });
}

const cells = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

describe('each recorded run of codex is classified by what was injected', () => {
  test('all recordings are there', () => {
    expect(cells.length).toBeGreaterThanOrEqual(87);
  });

  test.each(cells)('%s', (cell) => {
    const recorded = JSON.parse(read(cell, 'result.json')) as Recorded;
    const first = judgeRun(recorded);
    expect(first.verdict).toBe(expectedRun(recorded));
    expect(first.id).toMatch(/^[\da-f-]{36}$/);
  });

  test.each(cells)('the resume after %s', (cell) => {
    const recorded = JSON.parse(read(cell, 'result.json')) as Recorded;
    const { resume } = recorded;
    if (resume === undefined) return;
    const { id } = judgeRun(recorded);
    const second = judge(read(cell, 'resume.stdout.jsonl'), (ended) => ({
      exit: { code: resume.exit, signal: resume.sig },
      ...(ended ? {} : { failure: { process: 'ended-without-result', message: 'ended without a result' } }),
      stderr: read(cell, 'resume.stderr.txt'),
      session: '',
      mode: 'resume',
      ...(id === undefined ? {} : { sessionId: id }),
    }));
    expect(second.verdict).toBe(expectedResume(recorded));
  });
});
