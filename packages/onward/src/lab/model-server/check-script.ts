import type { Fault, FaultRule, SeededFaults } from './fault.ts';
import { LabError } from './lab-error.ts';
import type { Script, Step } from './script.ts';
import { isDelegated } from './script.ts';
import type { TurnScript, TurnSpec } from './turn-script.ts';
import { isTurnScript } from './turn-script.ts';

const TEMPERAMENTS: readonly string[] = ['naive', 'reader', 'checker'];
const PLACES: readonly string[] = ['start', 'text', 'after-text', 'tool-json', 'after-call'];
const CONDITIONS: readonly string[] = [
  'bad-request',
  'unauthorised',
  'forbidden',
  'not-found',
  'too-large',
  'rate-limited',
  'usage-limit',
  'billing',
  'context-overflow',
  'server-error',
  'bad-gateway',
  'unavailable',
  'overloaded',
];
const STOPS: readonly string[] = ['max-tokens', 'refusal', 'pause', 'content-filter', 'context-window'];

/**
 * Throws `LabError` (`lab.bad-script`) if a script makes no sense, naming the place: `script.faults[2].from must be …`. Scripts often
 * come from files, so their types are not trusted.
 */
export function checkScript(script: Script | TurnScript): void {
  demand(isRecord(script), 'script', 'an object');
  if (isTurnScript(script)) checkTurnList(script.turns);
  else checkTaskScript(script);
  listOf(script.faults, 'script.faults').forEach((rule, index) => checkRule(rule, `script.faults[${index}]`));
  if (script.seeded !== undefined) checkSeeded(script.seeded);
}

function checkTaskScript(script: Script): void {
  demand(TEMPERAMENTS.includes(script.temperament), 'script.temperament', `one of ${TEMPERAMENTS.join(', ')}`);
  demand(isRecord(script.task), 'script.task', 'an object');
  checkSteps(script.task.steps, 'script.task.steps');
  const summaries: readonly unknown[] = [undefined, 'faithful', 'uninformative'];
  demand(summaries.includes(script.summary), 'script.summary', 'faithful or uninformative');
  listOf(script.turns, 'script.turns').forEach((turn, index) => {
    const place = `script.turns[${index}]`;
    demand(isRecord(turn), place, 'an object');
    demand(typeof turn.text === 'string', `${place}.text`, 'a string');
    demand(Array.isArray(turn.calls), `${place}.calls`, 'a list');
    demand(['end', 'tool', ...STOPS].includes(turn.stop), `${place}.stop`, `one of end, tool, ${STOPS.join(', ')}`);
  });
}

function checkTurnList(turns: readonly TurnSpec[] | undefined): void {
  demand(Array.isArray(turns) && turns.length > 0, 'script.turns', 'a list of at least one turn');
  listOf(turns, 'script.turns').forEach((turn, index) => {
    const place = `script.turns[${index}]`;
    demand(isRecord(turn), place, 'an object');
    demand(isTextOrNone(turn.text), `${place}.text`, 'a string');
    demand(isTextOrNone(turn.thinking), `${place}.thinking`, 'a string');
    const stop = turn.stop ?? 'end';
    demand(['end', 'tool', ...STOPS].includes(stop), `${place}.stop`, `one of end, tool, ${STOPS.join(', ')}`);
    listOf(turn.calls, `${place}.calls`).forEach((call, number) => {
      const here = `${place}.calls[${number}]`;
      demand(isRecord(call), here, 'an object');
      demand(isWord(call.name), `${here}.name`, 'a non-empty string');
      demand(isRecord(call.input) || typeof call.input === 'string', `${here}.input`, 'an object, or a string');
      demand(isTextOrNone(call.inputText), `${here}.inputText`, 'a string');
    });
    if (turn.usage !== undefined) checkUsage(turn.usage, `${place}.usage`);
  });
}

function checkUsage(usage: NonNullable<TurnSpec['usage']>, place: string): void {
  demand(isRecord(usage), place, 'an object');
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  for (const [name, value] of Object.entries({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }))
    demandNumber(value, 0, `${place}.${name}`);
}

function checkSteps(steps: readonly Step[], place: string): void {
  demand(Array.isArray(steps) && steps.length > 0, place, 'a list of at least one step');
  const ids = new Set<string>();
  for (const [index, step] of steps.entries()) {
    const here = `${place}[${index}]`;
    demand(isRecord(step), here, 'an object');
    demand(isWord(step.id), `${here}.id`, 'a non-empty string');
    demand(!ids.has(step.id), `${here}.id`, `another id than ${step.id}, which an earlier step has`);
    ids.add(step.id);
    demand(isWord(step.evidence), `${here}.evidence`, 'a non-empty string');
    if (isDelegated(step)) {
      demand(isRecord(step.delegate), `${here}.delegate`, 'an object');
      checkSteps(step.delegate.steps, `${here}.delegate.steps`);
      continue;
    }
    demand(isWord(step.command), `${here}.command`, 'a non-empty string');
    if (step.inspect === undefined) continue;
    demand(isRecord(step.inspect), `${here}.inspect`, 'an object');
    demand(isWord(step.inspect.command), `${here}.inspect.command`, 'a non-empty string');
    demand(isWord(step.inspect.shows), `${here}.inspect.shows`, 'a non-empty string');
  }
}

function checkRule(rule: FaultRule, place: string): void {
  demand(isRecord(rule), place, 'an object');
  demand(isCount(rule.from), `${place}.from`, 'a whole number of at least 1');
  if (rule.to !== undefined && rule.to !== null) {
    demand(isCount(rule.to) && rule.to >= rule.from, `${place}.to`, `null, or a whole number of at least ${rule.from}`);
  }
  const agents: readonly unknown[] = [undefined, 'main', 'subagent'];
  demand(agents.includes(rule.agent), `${place}.agent`, 'main or subagent');
  checkFault(rule.fault, `${place}.fault`);
  demand(
    rule.fault.kind !== 'refused' || rule.agent === undefined,
    `${place}.agent`,
    'left out: a closed port is closed to every agent',
  );
}

function checkSeeded(seeded: SeededFaults): void {
  demand(isRecord(seeded), 'script.seeded', 'an object');
  demand(Number.isSafeInteger(seeded.seed), 'script.seeded.seed', 'a whole number');
  demand(seeded.share >= 0 && seeded.share <= 1, 'script.seeded.share', 'a number from 0 to 1');
  if (seeded.atMost !== undefined)
    demand(isCount(seeded.atMost), 'script.seeded.atMost', 'a whole number of at least 1');
  const faults = listOf(seeded.faults, 'script.seeded.faults');
  demand(faults.length > 0, 'script.seeded.faults', 'a list of at least one fault');
  for (const [index, fault] of faults.entries()) {
    const place = `script.seeded.faults[${index}]`;
    checkFault(fault, place);
    demand(fault.kind !== 'refused', `${place}.kind`, 'another kind: a closed port sees no request to draw for');
  }
}

function checkFault(fault: Fault, place: string): void {
  demand(isRecord(fault), place, 'an object');
  switch (fault.kind) {
    case 'error':
      demandError(fault.error, place);
      if (fault.retryAfterSeconds !== undefined) demandNumber(fault.retryAfterSeconds, 0, `${place}.retryAfterSeconds`);
      return;
    case 'usage-limit':
      demandNumber(fault.resetsInSeconds, 0, `${place}.resetsInSeconds`);
      return;
    case 'cut':
      demandPlace(fault.at, place);
      demand(fault.how === 'rst' || fault.how === 'fin', `${place}.how`, 'rst or fin');
      return;
    case 'ping-only':
      demandPlace(fault.at, place);
      demandNumber(fault.everyMs, 1, `${place}.everyMs`);
      return;
    case 'error-event':
      demandPlace(fault.at, place);
      demandError(fault.error, place);
      return;
    case 'stall':
    case 'malformed-chunk':
      demandPlace(fault.at, place);
      return;
    case 'stop':
      demand(STOPS.includes(fault.reason), `${place}.reason`, `one of ${STOPS.join(', ')}`);
      return;
    case 'refused':
      if (fault.forMs !== undefined) demandNumber(fault.forMs, 0, `${place}.forMs`);
      return;
    case 'reset':
    case 'no-headers':
    case 'empty-answer':
    case 'empty-body':
      return;
    default:
      unknownKind(fault, place);
  }
}

function demandPlace(at: string, place: string): void {
  demand(PLACES.includes(at), `${place}.at`, `one of ${PLACES.join(', ')}`);
}

function demandError(error: string, place: string): void {
  demand(CONDITIONS.includes(error), `${place}.error`, `one of ${CONDITIONS.join(', ')}`);
}

function demandNumber(value: number, least: number, place: string): void {
  demand(Number.isFinite(value) && value >= least, place, `a number of at least ${least}`);
}

function demand(holds: boolean, place: string, wanted: string): void {
  if (holds) return;
  throw new LabError('lab.bad-script', `${place} must be ${wanted}.`, ['Correct the script and start again.']);
}

function unknownKind(fault: never, place: string): never {
  const kind = JSON.stringify((fault as { readonly kind?: unknown }).kind);
  throw new LabError('lab.bad-script', `${place}.kind is ${kind}, which is no fault the lab knows.`, [
    'See the type Fault for all kinds.',
  ]);
}

function listOf<T>(value: readonly T[] | undefined, place: string): readonly T[] {
  if (value === undefined) return [];
  demand(Array.isArray(value), place, 'a list');
  return value;
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
