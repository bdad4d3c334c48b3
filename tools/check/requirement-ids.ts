import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';

/** Ids of user reports (R), and of behaviours of the agent loop (A) and the orchestrator (O). */
const ID = /\b[RAO]\d{1,3}\b/g;

/** What packages/onward/test/requirements.json holds. */
export interface Requirements {
  /** Ids that must have a test before the present goal is reached. */
  readonly requiredIds: readonly string[];
  /** Ids that tests name, all of them. */
  readonly tested: readonly string[];
  /** Required ids that no test names yet. */
  readonly pending: readonly string[];
}

/** What the file must say, given the ids that tests name. */
export function requirementsOf(requiredIds: readonly string[], named: ReadonlySet<string>): Requirements {
  const required = [...new Set(requiredIds)].toSorted(byNumber);
  return {
    requiredIds: required,
    tested: [...named].toSorted(byNumber),
    pending: required.filter((id) => !named.has(id)),
  };
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** The ids in the names of all tests below a folder. */
export function namedIds(folder: string): ReadonlySet<string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
  return new Set(files.flatMap((file) => idsIn(file, readFileSync(join(folder, file), 'utf8'))));
}

/** The ids in the names of the tests and groups of one file; those that are skipped or only planned do not count. */
export function idsIn(path: string, source: string): readonly string[] {
  return namesOf(parseSync(path, source).program).flatMap((name) => name.match(ID) ?? []);
}

type Node = Readonly<Record<string, unknown>>;

function namesOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(namesOf);
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Node;
  const words = node['type'] === 'CallExpression' ? calleeWords(node['callee'] as Node) : [];
  if (!/^(test|it|describe)$/.test(words[0] ?? '')) return Object.values(node).flatMap(namesOf);
  if (words.includes('skip') || words.includes('todo')) return [];
  const [name, ...rest] = node['arguments'] as readonly Node[];
  return [...textsOf(name), ...namesOf(rest)];
}

/** `test.each(rows)` and `test.skipIf(x).concurrent` as the words of which they are made. */
function calleeWords(node: Node): readonly string[] {
  switch (node['type']) {
    case 'Identifier':
      return [String(node['name'])];
    case 'MemberExpression':
      return [...calleeWords(node['object'] as Node), ...calleeWords(node['property'] as Node)];
    case 'CallExpression':
      return calleeWords(node['callee'] as Node);
    case 'TaggedTemplateExpression':
      return calleeWords(node['tag'] as Node);
    default:
      return [];
  }
}

function textsOf(node: Node | undefined): readonly string[] {
  if (node?.['type'] === 'Literal') return [String(node['value'])];
  if (node?.['type'] !== 'TemplateLiteral') return [];
  return (node['quasis'] as readonly { readonly value: { readonly raw: string } }[]).map(({ value }) => value.raw);
}
