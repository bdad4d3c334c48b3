import { faultNames, faults, type Group } from './faults.ts';
import { type CrashCell, crashPoints, type FaultCell } from './matrix.ts';
import { judge, judgeCrash, type Verdict } from './verdict.ts';

/** The fault table: a row for each fault (and again with time-outs, where they were set), a column for each peer. */
export function faultTable(cells: readonly FaultCell[], peers: readonly string[]): string {
  const rows = faultNames.flatMap((fault) =>
    [false, true].flatMap((timeouts) => {
      const ofRow = cells.filter((cell) => cell.fault === fault && cell.timeouts === timeouts);
      if (ofRow.length === 0) return [];
      const words = peers.map((peer) => {
        const cell = ofRow.find((one) => one.peer === peer);
        if (cell === undefined) return '';
        const { word, notes } = judge(fault, cell.seen);
        return [word, ...notes].join(' ');
      });
      return [[timeouts ? `${fault}, time-outs 10 s` : fault, ...words]];
    }),
  );
  return table(['fault', ...peers], rows);
}

/** Sums over the rows with default settings; those of silence count with time-outs of 10 s. */
export function scoreTable(cells: readonly FaultCell[], peers: readonly string[]): string {
  const head = [
    '',
    'recovered',
    'text once',
    'false success',
    'cut arguments run',
    'no end',
    'permanent: one request',
    'and its status',
  ];
  const rows = peers.map((peer) => {
    const counted = cells.filter((cell) => cell.peer === peer && cell.timeouts === (groupOf(cell) === 'silence'));
    const judged = counted.map((cell) => ({ group: groupOf(cell), ...judge(cell.fault, cell.seen) }));
    const able = judged.filter(({ group }) => group !== 'none' && group !== 'permanent' && group !== 'wait');
    const fixed = able.filter(({ word }) => word === 'ok');
    const permanent = judged.filter(({ group }) => group === 'permanent');
    const right = permanent.filter((one) => one.word === 'err' && one.permanent === 1);
    const count = (words: readonly Verdict['word'][]): string =>
      String(judged.filter(({ word }) => words.includes(word)).length);
    return [
      peer,
      `${fixed.length}/${able.length}`,
      `${fixed.filter((one) => !one.twice).length}/${able.length}`,
      count(['SILENT', 'SILENT*']),
      count(['CORRUPT']),
      count(['HANG', 'waits', 'RETRYING']),
      `${right.length}/${permanent.length}`,
      `${right.filter((one) => one.status).length}/${permanent.length}`,
    ];
  });
  return table(head, rows);
}

/** What the error says that reached the program: the name it has there, status, code, class. Of faults that do not pass. */
export function errorTable(cells: readonly FaultCell[], peers: readonly string[]): string {
  const names = faultNames.filter((name) => ['429-ra90', 'overflow', 'invalid', '401', 'quota'].includes(name));
  const rows = peers.map((peer) => [
    peer,
    ...names.map((fault) => {
      const cell = cells.find((one) => one.peer === peer && one.fault === fault);
      const report = cell?.seen.report;
      const error = report?.error ?? report?.hidden;
      if (error === undefined) return '';
      const parts = [error.name, error.status, error.code, error.class].filter((part) => part !== undefined);
      return report?.error === undefined ? `(only a callback: ${parts.join(' ')})` : parts.join(' ');
    }),
  ]);
  return table(['', ...names], rows);
}

/** For a library whose events say what is superseded: what consumers see who do not care. */
export function otherConsumers(cells: readonly FaultCell[], peer: string): string | undefined {
  const own = cells.filter((cell) => cell.peer === peer && cell.seen.report?.onScreen !== undefined);
  if (own.length === 0) return undefined;
  const judged = own.map((cell) => judge(cell.fault, cell.seen));
  const raw = judged.filter((one) => one.rawTwice).length;
  const printed = judged.filter((one) => one.printedTwice === true).length;
  return (
    `${peer}: of ${own.length} cases that were done, who shows every piece and takes nothing back saw a text twice in ${raw}, ` +
    `who prints finished answers only in ${printed}.`
  );
}

/** The crash table of one kind of model. */
export function crashTable(cells: readonly CrashCell[], peers: readonly string[], cautious: boolean): string {
  const points = crashPoints.filter((point) =>
    cells.some((cell) => cell.cautious === cautious && cell.point === point),
  );
  const rows = peers.map((peer) => [
    peer,
    ...points.map((point) => {
      const cell = cells.find((one) => one.peer === peer && one.point === point && one.cautious === cautious);
      return cell === undefined ? '' : judgeCrash(cell.seen);
    }),
  ]);
  return table(['', ...points], rows);
}

function groupOf(cell: FaultCell): Group {
  return faults[cell.fault]?.group ?? 'none';
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
