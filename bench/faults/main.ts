import { parseArgs } from 'node:util';
import { faultNames } from './faults.ts';
import { installPeers } from './install.ts';
import { expectedSeconds, faultCases, runCrashes, runFaults } from './matrix.ts';
import { crashOnly, peers, versionsOf } from './peers.ts';
import { crashTable, errorTable, faultTable, otherConsumers, scoreTable } from './tables.ts';
import { judge, judgeCrash } from './verdict.ts';

// Usage: npm run bench:faults [-- --only PEER[,PEER]] [--faults NAME[,NAME]] [--no-crash] [--cap SECONDS] [--json].
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    faults: { type: 'string' },
    cap: { type: 'string', default: '40' },
    'no-crash': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const wanted = values.only?.replace(/^onward$/, 'onward,onward-undeclared').split(',') ?? Object.keys(peers);
const unknown = wanted.filter((peer) => peers[peer] === undefined);
if (unknown.length > 0) throw new Error(`there is no peer ${unknown.join(', ')}: ${Object.keys(peers).join(', ')}`);
const say = (line: string): void => console.error(line);

if (wanted.some((peer) => (peers[peer] ?? []).length > 0)) {
  const failed = installPeers();
  if (failed !== undefined) say(`npm could not install the peers: ${failed}`);
}
const missing = wanted.filter((peer) => versionsOf(peer) === undefined);
const present = wanted.filter((peer) => !missing.includes(peer));
const capMs = Number(values.cap) * 1000;
const streaming = present.filter((peer) => !crashOnly.has(peer));
const cases = faultCases(streaming, values.faults?.split(',') ?? faultNames, capMs);
const crashing = values['no-crash'] ? [] : present;
say(
  `${cases.length} fault cases, ${crashing.length * 7} kills, about ${expectedSeconds(cases, crashing.length * 7, capMs)} s`,
);

const start = performance.now();
const cells = await runFaults(cases, ({ peer, fault, timeouts, seen }) => {
  const { word, notes } = judge(fault, seen);
  say(`${peer} ${fault}${timeouts ? ' (10 s)' : ''}: ${[word, ...notes].join(' ')} (${(seen.ms / 1000).toFixed(1)} s)`);
});
const crashes = await runCrashes(crashing);

if (values.json) {
  const plain = cells.map(({ seen: { script: _, stderr: __, ...seen }, ...cell }) => ({
    ...cell,
    verdict: judge(cell.fault, { ...seen, script: _, stderr: __ }),
    ...seen,
  }));
  const killed = crashes.map(({ seen, ...cell }) => ({ ...cell, verdict: judgeCrash(seen) }));
  console.log(JSON.stringify({ node: process.versions.node, missing, faults: plain, crashes: killed }, null, 2));
} else {
  const parts = [
    `## Faults, default settings; for silence also time-outs of 10 s\n\n${faultTable(cells, streaming)}`,
    `## Score\n\n${scoreTable(cells, streaming)}`,
    `## What an error says that reached the program\n\n${errorTable(cells, streaming)}`,
    ...streaming.map((peer) => otherConsumers(cells, peer)).filter((line) => line !== undefined),
    ...(crashes.length === 0
      ? []
      : [
          `## SIGKILL, then go on: ending, runs of the tool for 2 items (repeated ones), requests before + after\n\n${crashTable(crashes, present, false)}`,
          `## The same with a model that does not ask again where a result says that the outcome is unknown\n\n${crashTable(crashes, present, true)}`,
        ]),
    ...present.filter((peer) => versionsOf(peer) !== '').map((peer) => `${peer}: ${versionsOf(peer) ?? ''}`),
    ...missing.map((peer) => `${peer}: not installed, left out`),
    `Node ${process.versions.node}, cap ${values.cap} s, ${((performance.now() - start) / 1000).toFixed(0)} s in all.`,
  ];
  console.log(parts.join('\n\n'));
}
