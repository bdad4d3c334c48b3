import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import type { FolderRule, ImportRules } from './import-rules.ts';
import { matchesAny, matchPath } from './match-path.ts';
import { readImports, type Import } from './read-imports.ts';

/** A rule that a file breaks. */
export interface Violation {
  /** Path below the source folder. */
  readonly file: string;
  readonly line: number;
  /** Id of the rule. */
  readonly rule: string;
  readonly message: string;
}

/** The source files: path below the source folder (with `/`) to text. */
export type Sources = ReadonlyMap<string, string>;

interface Edge extends Import {
  readonly from: string;
  /** The file that is imported, when it is one of the sources. */
  readonly to: string | undefined;
}

/** All places where the sources break the rules, in order of file and line. */
export function findViolations(sources: Sources, rules: ImportRules): readonly Violation[] {
  const edges = [...sources].flatMap(([from, text]) => readEdges(from, text, sources));
  const found = [
    ...[...sources.keys()].flatMap((file) => checkPlaced(file, rules)),
    ...edges.flatMap((edge) => [...checkForm(edge, rules), ...checkEdge(edge, rules)]),
    ...checkPortable(edges, rules),
    ...checkCycles(edges),
  ];
  return found.toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

function readEdges(from: string, text: string, sources: Sources): readonly Edge[] {
  return readImports(from, text).map((one) => {
    const path = one.specifier?.startsWith('.') ? posix.join(posix.dirname(from), one.specifier) : undefined;
    return { ...one, from, to: path !== undefined && sources.has(path) ? path : undefined };
  });
}

function violation({ from, line }: Edge, rule: string, message: string): Violation {
  return { file: from, line, rule, message };
}

function ruleOf(file: string, rules: ImportRules): FolderRule | undefined {
  return rules.folders.find(({ files }) => matchPath(files, file) !== undefined);
}

function checkPlaced(file: string, rules: ImportRules): readonly Violation[] {
  if (ruleOf(file, rules) !== undefined) return [];
  return [{ file, line: 1, rule: 'placed', message: 'no rule says what this file may import: give its folder one' }];
}

function checkForm(edge: Edge, rules: ImportRules): readonly Violation[] {
  const { specifier } = edge;
  if (specifier === undefined) {
    if (matchesAny(rules.computed, edge.from)) return [];
    return [violation(edge, 'readable', 'hides what it imports; write import and a text')];
  }
  if (edge.isStar) return [violation(edge, 'by-name', `exports all of ${specifier}; export names`)];
  if (specifier.startsWith('.') && edge.to === undefined)
    return [violation(edge, 'exists', `${specifier} is no source file here (write the .ts)`)];
  if (!specifier.startsWith('node:') && isBuiltin(specifier))
    return [violation(edge, 'node-prefix', `write node:${specifier}`)];
  return [];
}

function checkEdge(edge: Edge, rules: ImportRules): readonly Violation[] {
  const rule = ruleOf(edge.from, rules);
  if (rule === undefined || edge.specifier === undefined) return [];
  if (edge.to !== undefined) return checkFileImport(edge, edge.to, rule, rules);
  return edge.specifier.startsWith('.') ? [] : checkModuleImport(edge, edge.specifier, rule, rules);
}

function checkFileImport(edge: Edge, to: string, rule: FolderRule, rules: ImportRules): readonly Violation[] {
  if (isSameFolder(rule, edge.from, to, rules)) return [];
  if (!matchesAny(rule.may, to)) return [violation(edge, rule.id, `must not import ${to}`)];
  // A file that lies beside the importer's own folder or above it is no entry into another folder.
  const isAbove = !posix.relative(posix.dirname(to), edge.from).startsWith('..');
  if (isAbove || matchesAny(rules.doors, to)) return [];
  return [violation(edge, 'doors', `enters another folder at ${to}; use its index.ts or contract file`)];
}

function isSameFolder(rule: FolderRule, from: string, to: string, rules: ImportRules): boolean {
  if (ruleOf(to, rules) !== rule) return false;
  const names = matchPath(rule.files, from);
  const others = matchPath(rule.files, to);
  return names?.[':one'] === others?.[':one'];
}

function checkModuleImport(edge: Edge, name: string, rule: FolderRule, rules: ImportRules): readonly Violation[] {
  const isNode = isBuiltin(name);
  if (isNode && !rule.node) return [violation(edge, rule.id, `must not import ${name}`)];
  const base = isNode ? name : packageOf(name);
  const limit = rules.modules.find(({ module }) => module === base);
  if (limit === undefined)
    return isNode ? [] : [violation(edge, 'known-package', `${base} has no rule: say which folder owns it`)];
  if (matchesAny(limit.only, edge.from)) return [];
  return [violation(edge, limit.id, `only ${limit.only.join(' and ') || 'nobody'} may import ${base}`)];
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function checkPortable(edges: readonly Edge[], rules: ImportRules): readonly Violation[] {
  const running = edges.filter(({ isType }) => !isType);
  const starts = new Set(running.map(({ from }) => from));
  return rules.portable.flatMap(({ id, files }) =>
    [...starts]
      .filter((start) => matchPath(files, start) !== undefined)
      .flatMap((start) => {
        const path = pathTo(start, running, ({ specifier }) => specifier !== undefined && isBuiltin(specifier));
        const first = path?.[0];
        if (path === undefined || first === undefined) return [];
        const way = path.map(({ to, specifier }) => to ?? specifier).join(' -> ');
        return [violation(first, id, `must load without Node, but: ${start} -> ${way}`)];
      }),
  );
}

function checkCycles(edges: readonly Edge[]): readonly Violation[] {
  const told = new Set<string>();
  return [...new Set(edges.map(({ from }) => from))].toSorted().flatMap((start) => {
    if (told.has(start)) return [];
    const path = pathTo(start, edges, ({ to }) => to === start);
    const first = path?.[0];
    if (path === undefined || first === undefined) return [];
    for (const { from } of path) told.add(from);
    return [violation(first, 'cycles', `is in a ring: ${[start, ...path.map(({ to }) => to)].join(' -> ')}`)];
  });
}

/** The shortest way over imports from a file to an edge that fits. */
function pathTo(start: string, edges: readonly Edge[], fits: (edge: Edge) => boolean): readonly Edge[] | undefined {
  const from = Map.groupBy(edges, (edge) => edge.from);
  const seen = new Set([start]);
  const queue: (readonly Edge[])[] = [[]];
  for (const path of queue) {
    for (const edge of from.get(path.at(-1)?.to ?? start) ?? []) {
      if (fits(edge)) return [...path, edge];
      if (edge.to === undefined || seen.has(edge.to)) continue;
      seen.add(edge.to);
      queue.push([...path, edge]);
    }
  }
  return undefined;
}
