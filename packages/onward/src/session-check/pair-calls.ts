import type { Finding } from './finding.ts';
import { type CallPart, groupsOf, type History, type Part, type ResultPart } from './message-form.ts';
import type { ProviderRules } from './provider-rules.ts';

/** Which result belongs to which call, and what belongs to nothing. */
interface Pairs {
  readonly resultOf: ReadonlyMap<CallPart, ResultPart>;
  readonly callOf: ReadonlyMap<ResultPart, CallPart>;
  /** Results that no call waits for. */
  readonly spare: readonly ResultPart[];
}

/**
 * In order: a result answers the oldest open call of its id in the newest message that has one. What comes before its call
 * answers it too, out of place.
 */
function pair(history: History): Pairs {
  const open = new Map<string, { readonly message: number; readonly calls: CallPart[] }>();
  const early = new Map<string, ResultPart[]>();
  const resultOf = new Map<CallPart, ResultPart>();
  const callOf = new Map<ResultPart, CallPart>();
  const answer = (result: ResultPart): boolean => {
    const call = open.get(result.id)?.calls.shift();
    if (call === undefined) return false;
    resultOf.set(call, result);
    callOf.set(result, call);
    return true;
  };
  for (const [message, { parts }] of groupsOf(history).entries()) {
    for (const part of parts) {
      if (part.kind === 'result' && !answer(part)) push(early, part.id, part);
      if (part.kind !== 'call') continue;
      const known = open.get(part.id);
      if (known?.message === message) known.calls.push(part);
      else open.set(part.id, { message, calls: [part] });
    }
  }
  const spare = [...early.values()].flat().filter((result) => !answer(result));
  return { resultOf, callOf, spare };
}

function push<Item>(map: Map<string, Item[]>, key: string, item: Item): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [item]);
  else list.push(item);
}

/** Calls and results that a provider would refuse, wherever they stand. */
export function checkCalls(history: History, rules: ProviderRules): readonly Finding[] {
  const pairs = pair(history);
  const twice = checkCallIds(history, pairs);
  const busy = new Set(twice.map(({ repair }) => (repair.do === 'rekey' ? repair.call : undefined)));
  return [
    ...twice,
    ...checkAnswers(history, pairs, busy),
    ...checkSpare(history, pairs),
    ...checkPlaces(history, pairs, rules),
  ];
}

/** The same call written down twice is one; another call with a used id gets an id of its own. */
function checkCallIds(history: History, { resultOf }: Pairs): readonly Finding[] {
  const findings: Finding[] = [];
  const seen = new Map<string, { readonly call: CallPart; readonly group: number }>();
  const taken = new Set(history.flatMap((part) => (part.kind === 'call' ? [part.id] : [])));
  for (const [group, { parts }] of groupsOf(history).entries()) {
    for (const call of parts.filter((part): part is CallPart => part.kind === 'call')) {
      const first = seen.get(call.id);
      if (first === undefined) {
        seen.set(call.id, { call, group });
        continue;
      }
      const says = `The id ${call.id} of this call (${call.tool}) was used before, in line ${first.call.place.line}.`;
      const result = resultOf.get(call);
      const repeated = first.group === group && call.asked !== undefined && call.asked === first.call.asked;
      const base = { kind: 'duplicate-call', line: call.place.line, id: call.id, says } as const;
      if (repeated && result === undefined && call.tool === first.call.tool) {
        findings.push({ ...base, repair: { do: 'drop', part: call } });
        continue;
      }
      const id = freeId(call.id, taken);
      findings.push({ ...base, repair: { do: 'rekey', call, id, ...(result === undefined ? {} : { result }) } });
    }
  }
  return findings;
}

/** Only characters that every provider takes in an id. */
function freeId(id: string, taken: Set<string>): string {
  let number = 2;
  while (taken.has(`${id}_${number}`)) number += 1;
  taken.add(`${id}_${number}`);
  return `${id}_${number}`;
}

function checkAnswers(history: History, pairs: Pairs, busy: ReadonlySet<CallPart | undefined>): readonly Finding[] {
  return history.flatMap((call): readonly Finding[] => {
    if (call.kind !== 'call' || call.results === 'any' || pairs.resultOf.has(call) || busy.has(call)) return [];
    const says = `The call ${call.id} (${call.tool}) has no result.`;
    const repair = call.fixed === true ? ({ do: 'drop', part: call } as const) : ({ do: 'answer', call } as const);
    return [{ kind: 'call-without-result', line: call.place.line, id: call.id, says, repair }];
  });
}

function checkSpare(history: History, { spare }: Pairs): readonly Finding[] {
  const calls = new Map(history.flatMap((part) => (part.kind === 'call' ? [[part.id, part] as const] : [])));
  const index = placesIn(history);
  return spare.flatMap((part): readonly Finding[] => {
    const call = calls.get(part.id);
    const base = { line: part.place.line, id: part.id, repair: { do: 'drop', part } } as const;
    if (call === undefined) {
      const says = `This is a result of the call ${part.id}, which is not there.`;
      return [{ ...base, kind: 'result-without-call', says }];
    }
    if (call.results !== undefined && index(part) > index(call)) return [];
    return [{ ...base, kind: 'duplicate-result', says: `The call ${part.id} (${call.tool}) has a result already.` }];
  });
}

function placesIn(history: History): (part: Part) => number {
  const index = new Map(history.map((part, at) => [part, at]));
  return (part) => index.get(part) ?? -1;
}

function checkPlaces(history: History, pairs: Pairs, rules: ProviderRules): readonly Finding[] {
  const right = rules.adjacent ? leadingResults(history) : undefined;
  const index = placesIn(history);
  return [...pairs.callOf].flatMap(([result, call]): readonly Finding[] => {
    const isRight = right === undefined ? index(result) > index(call) : right.get(result)?.has(call) === true;
    if (isRight) return [];
    const says = `The result of the call ${call.id} (${call.tool}) does not stand right after it.`;
    // Beside a call that nothing can be added to, its result goes, and then the call.
    const repair =
      call.fixed === true ? ({ do: 'drop', part: result } as const) : ({ do: 'move', result, call } as const);
    return [{ kind: 'result-out-of-place', line: result.place.line, id: call.id, says, repair }];
  });
}

/** Of each result that opens a message: the calls of the message before. */
function leadingResults(history: History): ReadonlyMap<Part, ReadonlySet<Part>> {
  const groups = groupsOf(history);
  const found = new Map<Part, ReadonlySet<Part>>();
  for (const [at, group] of groups.entries()) {
    const before = groups[at - 1];
    if (group.role !== 'user' || before === undefined) continue;
    const calls = new Set<Part>(before.parts.filter(({ kind }) => kind === 'call'));
    for (const part of group.parts) {
      if (part.kind === 'result') found.set(part, calls);
      else if (part.kind !== 'media' || !part.within) break;
    }
  }
  return found;
}
