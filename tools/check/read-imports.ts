import { parseSync } from 'vite';

/** One place where a file names another module. */
export interface Import {
  /** As written; `undefined` for one that only the running program knows. */
  readonly specifier: string | undefined;
  readonly line: number;
  /** True when nothing of it is left at run time. */
  readonly isType: boolean;
  /** True for `export * from`. */
  readonly isStar: boolean;
}

type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number };

/** Ways around `import` that would hide a module from this check. */
const HIDDEN: ReadonlySet<string> = new Set(['require', 'createRequire', 'getBuiltinModule']);

/** All imports of a TypeScript file, `export from`, `import()` and types included. Throws for a file with syntax errors. */
export function readImports(path: string, source: string): readonly Import[] {
  const parsed = parseSync(path, source);
  const [error] = parsed.errors;
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`);
  const found: Import[] = [];
  for (const node of nodesOf(parsed.program)) {
    const read = readNode(node);
    if (read !== undefined) found.push({ ...read, line: source.slice(0, node.start).split('\n').length });
  }
  return found;
}

function readNode(node: Node): Omit<Import, 'line'> | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      if (node['source'] === null || node['source'] === undefined) return undefined;
      return {
        specifier: textOf(node['source']),
        isType: isErased(node),
        isStar: node.type === 'ExportAllDeclaration',
      };
    case 'ImportExpression':
      return { specifier: textOf(node['source']), isType: false, isStar: false };
    case 'TSImportType':
      return { specifier: textOf(node['source'] ?? node['argument']), isType: true, isStar: false };
    case 'Identifier':
      return HIDDEN.has(String(node['name'])) ? { specifier: undefined, isType: false, isStar: false } : undefined;
    default:
      return undefined;
  }
}

/** With `verbatimModuleSyntax` only `import type` and `export type` vanish; `import { type A }` leaves a bare import. */
function isErased(node: Node): boolean {
  return node['importKind'] === 'type' || node['exportKind'] === 'type';
}

function textOf(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  if (node.type === 'TSLiteralType') return textOf(node['literal']);
  return undefined;
}

function* nodesOf(value: unknown): Iterable<Node> {
  if (Array.isArray(value)) {
    for (const item of value) yield* nodesOf(item);
  } else if (typeof value === 'object' && value !== null) {
    if (isNode(value)) yield value;
    for (const item of Object.values(value)) yield* nodesOf(item);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}
