import type { Finding } from '../finding.ts';
import { asText, type JsonObject } from '../json-shape.ts';
import { anthropicRules } from '../provider-rules.ts';
import type { ReadSession, SessionReader } from '../session-reader.ts';
import { findChain } from './chain.ts';
import { type Entry, toEntry } from './entry.ts';
import { planTranscript } from './rewrite.ts';

/** Reads a transcript of Claude Code (`projects/<folder>/<id>.jsonl`). */
export function createClaudeReader(): SessionReader {
  const entries: Entry[] = [];
  let id: string | undefined;
  return {
    format: 'claude',
    take(line, value: JsonObject) {
      id ??= asText(value['sessionId']) || undefined;
      const entry = toEntry(line, value);
      if (entry !== undefined) entries.push(entry);
    },
    finish: () => readTranscript(entries, id),
  };
}

function readTranscript(all: readonly Entry[], id: string | undefined): ReadSession {
  const chain = findChain(all);
  const history = chain.entries.flatMap(({ parts }) => parts);
  const findings = chain.broken.map(({ entry, before }): Finding => {
    const says = 'The line that this one goes on from is not in the file: a resume may leave out all that came before.';
    return { kind: 'broken-link', line: entry.line, says, repair: { do: 'link', line: entry.line, to: before.uuid } };
  });
  const model = chain.entries.findLast((entry) => entry.role === 'assistant' && isReal(entry.model))?.model;
  return {
    id,
    history,
    rules: { ...anthropicRules, origin: model },
    findings,
    plan: (repairs, ids) => planTranscript({ all, chain, repairs, links: findings }, ids),
  };
}

/** `<synthetic>` is what the CLI says by itself. */
function isReal(model: string): boolean {
  return model !== '' && !model.startsWith('<');
}
