import type { FailureClass } from '../../../../src/kernel/failure.ts';

interface Fault {
  readonly type: string;
  /** First and last model request that is hit, counted from 1; `null`: all that follow. */
  readonly from?: number;
  readonly to?: number | null;
  /** Only requests for models whose name holds this word. */
  readonly model?: string;
}

/** What `result.json` says of one recorded run. */
export interface Recorded {
  readonly cell: string;
  readonly faults: readonly Fault[];
  readonly exit: number | null;
  readonly sig: string | null;
  readonly timedOut: boolean;
  readonly killed: string | null;
}

/** The class of each injected fault, when it is what ended the run. From the provider's documentation of its errors, not from us. */
const classOfFault: Readonly<Record<string, FailureClass>> = {
  badjson: 'transient',
  ctx: 'overflow',
  ctxmax: 'overflow',
  cut_aftertool: 'transient',
  cut_text: 'transient',
  cut_textdone: 'transient',
  cut_tool: 'transient',
  down: 'transient',
  e400: 'input',
  e401: 'auth',
  e403: 'auth',
  e404: 'input',
  e413: 'overflow',
  e429: 'throttled',
  e429long: 'throttled',
  e429ra: 'throttled',
  e500: 'transient',
  e503: 'transient',
  e529: 'transient',
  empty: 'transient',
  empty_body: 'transient',
  err_aftertool: 'transient',
  err_text: 'transient',
  err_tool: 'transient',
  ping_text: 'transient',
  quota: 'billing',
  reset: 'transient',
  stall_aftertool: 'transient',
  stall_headers: 'transient',
  stall_text: 'transient',
  stall_tool: 'transient',
  stop_max_tokens: 'incomplete',
  stop_model_context_window_exceeded: 'overflow',
  stop_pause_turn: 'incomplete',
  stop_refusal: 'policy',
  usage: 'quota',
};

export type Expected = FailureClass | 'success';

interface Expectation {
  readonly expected: Expected;
  readonly because: string;
}

/** Cells whose outcome does not follow from the rules below, each with the reason. */
const exceptions: Readonly<Record<string, Expectation>> = {
  'down-up20-r2-default': {
    expected: 'success',
    because: 'the server came back after 20 s, within the retries of the CLI',
  },
  'cut_aftertool-r1-default': {
    expected: 'transient',
    because:
      'a race in the CLI: here the reset arrived before the tool began, so the call was dropped and the run failed',
  },
  'usage-r2-default': {
    expected: 'throttled',
    because: 'with an API key the CLI prints neither the kind of limit nor its end, only "rate limit" and 429',
  },
  'usage-r2-min': {
    expected: 'throttled',
    because: 'with an API key the CLI prints neither the kind of limit nor its end, only "rate limit" and 429',
  },
  'resume-while-first-alive': {
    expected: 'crash',
    because: 'the first process was ended by SIGTERM (exit 143) when the second one was done',
  },
};

/** Faults of one request that the CLI does not repeat, since a block had already arrived or the model itself said no. */
const neverRepeated: readonly string[] = ['cut_textdone', 'cut_tool', 'stop_refusal'];

/** The call was whole when the message broke: the CLI runs the tool and goes on with its result. */
const afterTool: readonly string[] = ['cut_aftertool', 'err_aftertool'];

/** The outcome that a recording must be read as, from what was done to it alone. */
export function expectedOf(recorded: Recorded): Expectation {
  const exception = exceptions[recorded.cell];
  if (exception !== undefined) return exception;
  const signal = recorded.sig ?? recorded.killed?.split('@')[0];
  if (signal === 'SIGINT') return { expected: 'incomplete', because: 'the CLI itself says that it was interrupted' };
  if (signal !== undefined) return { expected: 'crash', because: `the process was ended by ${signal}` };
  // A server that nobody listens on is no fault of a request, so only the name tells.
  const type = recorded.cell.startsWith('down') ? 'down' : recorded.faults[0]?.type;
  if (type === undefined) return { expected: 'success', because: 'nothing was injected' };
  const healed = healing(recorded, type);
  if (healed !== undefined) return { expected: 'success', because: healed };
  const expected = classOfFault[type];
  if (expected === undefined) throw new Error(`No class for the fault ${type}.`);
  return { expected, because: `the fault ${type} stayed` };
}

function healing(recorded: Recorded, type: string): string | undefined {
  const fault = recorded.faults[0];
  if (afterTool.includes(type)) return 'the call was whole, so the CLI ran it and went on';
  if (type === 'stall_aftertool' && recorded.cell.startsWith('fp-'))
    return 'the call was whole, and with the vendor as address the CLI itself notices the silence';
  if (fault?.model !== undefined) return 'the fault hits one model only, and --fallback-model names another';
  if (fault?.to === undefined || fault.to === null || fault.to !== fault.from) return undefined;
  return neverRepeated.includes(type) ? undefined : 'one request was hit and the CLI repeated it by itself';
}
