import { faults } from './faults.ts';
import type { Observed } from './run-case.ts';
import { markerCount } from './script.ts';

/** What a cell says; the words are explained in the README. */
export type Word = 'ok' | 'ok~' | 'err' | 'SILENT' | 'SILENT*' | 'CORRUPT' | 'HANG' | 'waits' | 'RETRYING';

/** One cell of the matrix. */
export interface Verdict {
  readonly word: Word;
  /** What else was seen. */
  readonly notes: readonly string[];
  /** A person who watches saw a step's text twice. */
  readonly twice: boolean;
  /** The same of one who takes nothing back, and of one who prints finished answers only, where there is such a choice. */
  readonly rawTwice: boolean;
  readonly printedTwice?: boolean;
  /** Requests that met the permanent error. */
  readonly permanent: number;
  /** A status reached the program with the error. */
  readonly status: boolean;
}

/** Reads what was seen of a case. */
export function judge(fault: string, seen: Observed): Verdict {
  const { script, report, effects } = seen;
  const word = wordOf(fault, seen);
  const isTwice = (text: string): boolean => script.texts.some((_, step) => markerCount(script, step, text) > 1);
  const raw = report?.raw ?? '';
  const twice = isTwice(report?.onScreen ?? raw);
  const hits = seen.requests.filter((request) => request.fault).length;
  const permanent = faults[fault]?.group === 'permanent' ? hits : 0;
  const status = report?.error?.status !== undefined;
  const hasStatus = faults[fault]?.act?.kind === 'status';
  const repeated = effects.length - new Set(effects).size;
  const notes = [
    ...(word === 'err' && permanent > 1 ? [`×${permanent}`] : []),
    ...(word === 'err' && hasStatus && !status ? ['untyped'] : []),
    ...(twice ? ['2×text'] : []),
    ...(seen.requests.some((request) => request.junk) ? ['junk'] : []),
    ...(repeated > 0 ? [`dup ${repeated}`] : []),
    ...seen.requests
      .filter((request) => request.kind === 'refused')
      .slice(0, 1)
      .map((request) => `refused: ${request.because ?? ''}`),
  ];
  const printed = report?.printed === undefined ? {} : { printedTwice: isTwice(report.printed) };
  return { word, notes, twice, rawTwice: isTwice(raw), ...printed, permanent, status };
}

function wordOf(fault: string, { script, report, effects, requests, ms }: Observed): Word {
  if (effects.some((line) => !script.items.includes(line))) return 'CORRUPT';
  if (report === undefined) {
    if (fault === '429-ra90' && requests.length === 2) return 'waits';
    return requests.filter((request) => request.fault && request.at > ms - 25_000).length > 0 && requests.length > 4
      ? 'RETRYING'
      : 'HANG';
  }
  if (report.error !== undefined || report.text === undefined) return 'err';
  const done = script.items.every((item) => effects.includes(item));
  const text = report.text.trim();
  const last = script.texts[2].trim();
  if (done && text === last) return 'ok';
  if (done && text.endsWith(last)) return 'ok~';
  return report.hidden === undefined ? 'SILENT' : 'SILENT*';
}

/** One cell of the crash table: how it ended, runs of the tool (repeated ones), requests before and after the kill. */
export function judgeCrash(seen: Observed): string {
  const { script, report, effects, requests, before = 0 } = seen;
  const repeated = effects.length - new Set(effects).size;
  const text = report?.text?.trim() ?? '';
  const isDone = text.endsWith(script.texts[2].trim()) && script.items.every((item) => effects.includes(item));
  const ending = report === undefined ? 'HANG' : report.error !== undefined ? 'error' : isDone ? 'ok' : 'SILENT';
  const unknown = requests.slice(before).some((request) => request.unknown) ? ', says unknown' : '';
  return `${ending}, ${effects.length} (${repeated}), ${before}+${requests.length - before}${unknown}`;
}
