import { assertNever } from '../kernel/error.ts';
import { checkHistory } from './check-history.ts';
import type { Finding, Repair } from './finding.ts';
import { type History, isWithin, type Part } from './message-form.ts';
import type { ProviderRules } from './provider-rules.ts';

/** A repair together with the batch that its result joins: the calls of one answer and the results that follow it. */
export interface PlannedRepair {
  readonly repair: Repair;
  readonly batch: readonly Part[];
}

/** What is wrong with a history, and what is done about it. */
export interface HistoryPlan {
  readonly findings: readonly Finding[];
  /** What else comes up when those are repaired, such as a message left without content. */
  readonly consequences: readonly Finding[];
  /** All repairs, in the order in which they are made. */
  readonly repairs: readonly PlannedRepair[];
}

/** More rounds than any history needs: each takes something away, or adds what the next finds right. */
const MOST_ROUNDS = 20;

/** Checks, and plans until nothing is left to be found. Pure. */
export function planRepair(history: History, rules: ProviderRules): HistoryPlan {
  const findings = checkHistory(history, rules);
  const consequences: Finding[] = [];
  const repairs: PlannedRepair[] = [];
  let now = history;
  let last = findings;
  for (let round = 0; last.length > 0 && round < MOST_ROUNDS; round++) {
    for (const { repair } of last) {
      // Changed by another repair of this round: the next round looks at it again.
      if (!isAbout(repair, now)) continue;
      const isPlaced = repair.do === 'answer' || repair.do === 'move';
      repairs.push({ repair, batch: isPlaced ? batchOf(now, repair.call) : [] });
      now = apply(now, repair);
    }
    last = checkHistory(now, rules);
    consequences.push(...last);
  }
  return { findings, consequences, repairs };
}

function isAbout(repair: Repair, history: History): boolean {
  switch (repair.do) {
    case 'drop':
    case 'note':
      return history.includes(repair.part);
    case 'answer':
      return history.includes(repair.call);
    case 'move':
      return history.includes(repair.call) && history.includes(repair.result);
    case 'rekey':
      return history.includes(repair.call) && (repair.result === undefined || history.includes(repair.result));
    case 'open':
      return history[0] === repair.before;
    case 'drop-line':
    case 'mend-line':
    case 'link':
    case 'cut':
      return false;
    default:
      return assertNever(repair, 'isAbout');
  }
}

function apply(history: History, repair: Repair): History {
  switch (repair.do) {
    case 'drop': {
      const { part } = repair;
      if (part.kind !== 'result') return history.filter((one) => one !== part);
      const inside = (one: Part): boolean =>
        one.place.line === part.place.line && part.place.path.length > 0 && isWithin(one.place.path, part.place.path);
      return history.filter((one) => one !== part && !inside(one));
    }
    case 'answer': {
      const { id, place } = repair.call;
      return insertAfterCall(history, repair.call, [{ kind: 'result', role: 'user', id, place, made: true }]);
    }
    case 'move': {
      const { result } = repair;
      const inner = history.filter(
        (one) => one === result || (one.kind === 'media' && one.within && isPartOf(one, result)),
      );
      return insertAfterCall(
        history.filter((one) => !inner.includes(one)),
        repair.call,
        inner,
      );
    }
    case 'rekey':
      return history.map((one) => (one === repair.call || one === repair.result ? { ...one, id: repair.id } : one));
    case 'note':
      return history.map((one) =>
        one === repair.part
          ? repair.part.within
            ? { ...repair.part, size: 0, image: false }
            : { kind: 'text', role: one.role, place: one.place, blank: false }
          : one,
      );
    case 'open':
      return [{ kind: 'text', role: 'user', blank: false, place: repair.before.place, made: true }, ...history];
    case 'drop-line':
    case 'mend-line':
    case 'link':
    case 'cut':
      return history;
    default:
      return assertNever(repair, 'applyRepairs');
  }
}

function isPartOf(inner: Part, outer: Part): boolean {
  return inner.place.line === outer.place.line && isWithin(inner.place.path, outer.place.path);
}

/** Behind the results that stand right after the call's message already. */
function insertAfterCall(history: History, call: Part, parts: readonly Part[]): History {
  const at = history.indexOf(batchOf(history, call).at(-1) ?? call) + 1;
  return [...history.slice(0, at), ...parts, ...history.slice(at)];
}

/** The calls of one answer, and the results of them that come right after it. */
function batchOf(history: History, call: Part): readonly Part[] {
  const at = history.indexOf(call);
  if (at < 0) return [call];
  const isSame = (part: Part | undefined): boolean =>
    part?.role === call.role && part.message === call.message && (part.message !== undefined || part.kind === 'call');
  let from = at;
  while (isSame(history[from - 1])) from -= 1;
  let to = at + 1;
  while (isSame(history[to])) to += 1;
  const ids = new Set(history.slice(from, to).flatMap((part) => (part.kind === 'call' ? [part.id] : [])));
  const isResult = (part: Part | undefined): boolean =>
    part?.kind === 'result' ? ids.has(part.id) : part?.kind === 'media' && part.within;
  while (isResult(history[to])) to += 1;
  return history.slice(from, to);
}
