import { createRequire } from 'node:module';

/** The programs of the matrix, ours first, and the packages whose versions name them. */
export const peers: Readonly<Record<string, readonly string[]>> = {
  onward: [],
  'onward-undeclared': [],
  naive: [],
  'ai-sdk': ['ai', '@ai-sdk/openai-compatible'],
  langgraph: ['@langchain/langgraph', '@langchain/core', '@langchain/openai', '@langchain/langgraph-checkpoint-sqlite'],
  'openai-agents': ['@openai/agents', 'openai'],
  pi: ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'],
};

/** What is installed of a peer, in words; `undefined` if something is missing. */
export function versionsOf(peer: string): string | undefined {
  const found = (peers[peer] ?? []).map((name) => ({ name, version: versionOf(name) }));
  if (found.some(({ version }) => version === undefined)) return undefined;
  return found.map(({ name, version }) => `${name} ${version ?? ''}`).join(', ');
}

function versionOf(name: string): string | undefined {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  for (const folder of folders) {
    try {
      const known = createRequire(import.meta.url)(`${folder}/${name}/package.json`) as { readonly version: string };
      return known.version;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** Programs that differ from another one only in what a crash leaves behind. */
export const crashOnly: ReadonlySet<string> = new Set(['onward-undeclared']);
