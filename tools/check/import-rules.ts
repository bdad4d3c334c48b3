/**
 * Who may import whom in packages/onward/src, as data. `find-violations.ts` applies it, and the architecture tests break
 * each rule once. Patterns are paths below src: `*` is one name, `**` is any depth, `:one` is one name that the same
 * rule may repeat.
 */
export interface FolderRule {
  /** Stable name of the rule, printed with each violation. */
  readonly id: string;
  /** The files it speaks of. The first rule that fits a file is the only one for it. */
  readonly files: string;
  /** What they may import besides the files of the same rule (with the same `:one`). */
  readonly may: readonly string[];
  /** False where not even `node:*` may be imported. */
  readonly node: boolean;
}

/** A module from outside that only some files may import. */
export interface ModuleRule {
  readonly id: string;
  /** A package, or a module of Node with its `node:`. */
  readonly module: string;
  readonly only: readonly string[];
}

/** A file from which, at run time, no module of Node may be reached over any number of imports. */
export interface PortableRule {
  readonly id: string;
  readonly files: string;
}

/** All rules of one source tree. */
export interface ImportRules {
  readonly folders: readonly FolderRule[];
  readonly modules: readonly ModuleRule[];
  readonly portable: readonly PortableRule[];
  /** Files by which a folder may be entered from a file of another rule. */
  readonly doors: readonly string[];
  /** Files that may load what only the running program knows: a package that the user has installed. */
  readonly computed: readonly string[];
}

const KERNEL = 'kernel/**';
/** The loops and what they offer to the ways in: editors, other agents, browsers. */
const LOOPS = [KERNEL, 'agent/**', 'supervisor/*', 'effects/*', 'orchestrator/*'];

/** What a run looks like from outside: events and their fold, which load without Node. */
const VIEWS = ['supervisor/run-view.ts', 'supervisor/run-stream.ts'];

/** The contract files: small, at the top of their folder, seen by implementations and by whoever is handed one. */
export const contracts: readonly string[] = [
  'kernel/journal.ts',
  'engines/engine.ts',
  'models/model.ts',
  'effects/effect.ts',
  'agent/plugin.ts',
  'supervisor/adapter.ts',
  'orchestrator/handler.ts',
];

/** The rules of this product. */
export const importRules: ImportRules = {
  folders: [
    { id: 'kernel', files: KERNEL, may: [], node: false },
    { id: 'store', files: 'stores/:one/**', may: [KERNEL, 'stores/*'], node: true },
    { id: 'stores', files: 'stores/*', may: [KERNEL], node: true },
    { id: 'engine', files: 'engines/:one/**', may: [KERNEL, 'engines/*'], node: true },
    { id: 'engines', files: 'engines/*', may: [KERNEL], node: true },
    { id: 'processes', files: 'processes/**', may: [KERNEL], node: true },
    { id: 'effects', files: 'effects/**', may: [KERNEL], node: true },
    { id: 'model', files: 'models/:one/**', may: [KERNEL, 'models/*'], node: true },
    { id: 'models', files: 'models/*', may: [KERNEL], node: true },
    { id: 'plugin', files: 'agent/plugins/:one/**', may: [KERNEL, 'agent/plugin.ts'], node: true },
    {
      id: 'agent',
      files: 'agent/**',
      may: [KERNEL, 'models/model.ts', 'models/to-failure.ts', 'effects/effect.ts'],
      node: true,
    },
    { id: 'adapter', files: 'supervisor/adapters/:one/**', may: [KERNEL, 'supervisor/adapter.ts'], node: true },
    { id: 'supervisor', files: 'supervisor/**', may: [KERNEL, 'processes/**'], node: true },
    {
      id: 'handler',
      files: 'orchestrator/handlers/:one/**',
      may: [KERNEL, 'orchestrator/handler.ts', 'effects/**', 'engines/engine.ts', 'agent/**', 'supervisor/*'],
      node: true,
    },
    {
      id: 'orchestrator',
      files: 'orchestrator/**',
      may: [KERNEL, 'effects/**', 'engines/engine.ts', 'processes/**'],
      node: true,
    },
    // Reads session files of any agent; knows what a provider refuses, and nothing of the loops.
    { id: 'session-check', files: 'session-check/**', may: [KERNEL], node: true },
    { id: 'acp', files: 'acp/**', may: LOOPS, node: true },
    { id: 'mcp', files: 'mcp/**', may: LOOPS, node: true },
    { id: 'ai-sdk', files: 'ai-sdk/**', may: [...LOOPS, 'models/*', 'models/ai-sdk/**', 'processes/**'], node: true },
    { id: 'web', files: 'web/**', may: LOOPS, node: true },
    // Reads events, and the shape of a plugin's record; nothing of it runs in the loop.
    { id: 'telemetry', files: 'telemetry/**', may: [KERNEL, 'agent/**'], node: false },
    { id: 'lab', files: 'lab/**', may: [], node: true },
    { id: 'testing', files: 'testing/**', may: [KERNEL, ...contracts], node: true },
    { id: 'root', files: 'index.ts', may: [KERNEL, ...VIEWS], node: false },
    // `supervise()` for programs: puts a supervisor, the engine, a store and the adapters together.
    {
      id: 'library',
      files: 'library/**',
      may: [KERNEL, 'processes/**', 'engines/**', 'stores/**', 'supervisor/**', 'agent/**', 'effects/**', 'models/**'],
      node: true,
    },
    // The only other place where implementations are chosen. That nobody imports it follows from its absence above.
    { id: 'cli', files: 'cli/**', may: ['**'], node: true },
  ],
  modules: [
    { id: 'starts-processes', module: 'node:child_process', only: ['processes/**', 'lab/**'] },
    { id: 'forks-workers', module: 'node:cluster', only: [] },
    { id: 'opens-sqlite', module: 'node:sqlite', only: ['stores/sqlite/**', 'processes/session-lock.ts'] },
    { id: 'parses-arguments', module: 'commander', only: ['cli/**'] },
    { id: 'asks-on-terminal', module: '@clack/prompts', only: ['cli/**'] },
    { id: 'opens-postgres', module: 'postgres', only: ['stores/postgres/**'] },
    { id: 'calls-restate', module: '@restatedev/restate-sdk', only: ['engines/restate/**'] },
    { id: 'speaks-acp', module: '@agentclientprotocol/sdk', only: ['acp/**', 'supervisor/adapters/acp/**'] },
    { id: 'speaks-mcp', module: '@modelcontextprotocol/server', only: ['mcp/**'] },
    { id: 'speaks-ai-sdk', module: '@ai-sdk/provider', only: ['models/ai-sdk/**', 'ai-sdk/**'] },
    { id: 'speaks-otel', module: '@opentelemetry/api', only: ['telemetry/**'] },
    { id: 'serves-web', module: 'hono', only: ['web/**'] },
    { id: 'serves-web-on-node', module: '@hono/node-server', only: ['web/**'] },
    { id: 'reads-yaml', module: 'yaml', only: ['cli/**', 'orchestrator/**'] },
    {
      id: 'checks-shapes',
      module: 'zod',
      only: ['agent/**', 'orchestrator/**', 'supervisor/**', 'mcp/**', 'library/**', 'cli/**'],
    },
  ],
  portable: [
    { id: 'portable-root', files: 'index.ts' },
    { id: 'portable-memory-store', files: 'stores/memory/index.ts' },
    { id: 'portable-engine', files: 'engines/in-process/index.ts' },
  ],
  computed: ['library/chat/load-package.ts'],
  doors: ['**/index.ts', KERNEL, ...VIEWS, 'engines/inbox.ts', 'models/to-failure.ts', ...contracts],
};
