import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { OnwardError } from '../../kernel/error.ts';

/**
 * Loads a package that a user may or may not have: as it lies beside this program, else as the project in `cwd` has it. That
 * order, since what lies in a directory runs before anybody has approved anything of it.
 * Throws `config/missing-package` with the line that installs it, `config/broken-package` for one that does not load.
 */
export async function loadPackage(name: string, cwd: string): Promise<Readonly<Record<string, unknown>>> {
  const file = findEntry(name, dirname(fileURLToPath(import.meta.url))) ?? findEntry(name, cwd);
  if (file === undefined)
    throw new OnwardError('config/missing-package', `The package ${name} is not installed.`, {
      place: name,
      next: [`In this project: npm install ${name}`, `Beside a global onward: npm install -g ${name}`],
    });
  try {
    return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw new OnwardError('config/broken-package', `The package ${name} cannot be loaded from ${file}.`, {
      place: name,
      next: [`npm install ${name}`],
      cause,
    });
  }
}

/** The file that `import` of the package means, looked for upwards; Node offers no such question for another directory. */
function findEntry(name: string, from: string): string | undefined {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(join(folder, 'package.json'))) return entryOf(folder);
    if (at === dirname(at)) return undefined;
  }
}

function entryOf(folder: string): string | undefined {
  try {
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly main?: unknown;
      readonly exports?: unknown;
    };
    const root = field(about.exports, '.') ?? about.exports;
    const entry = pick(root) ?? (typeof about.main === 'string' ? about.main : 'index.js');
    const file = join(folder, entry);
    return existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

/** The entry for Node and `import`, in whatever depth of conditions. */
function pick(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return undefined;
  for (const condition of ['node', 'import', 'default']) {
    const found = pick(field(target, condition));
    if (found !== undefined) return found;
  }
  return undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
