import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const STAMP = join(HERE, 'node_modules', '.installed');

/** Where `claude` and `codex` are, once they are installed. */
export const realCliBin: string = join(HERE, 'node_modules', '.bin');

/**
 * Installs the pinned CLIs beside this file unless that very lock is installed already. Needs npm; the versions and their
 * checksums come from the lock. Throws with npm's own words.
 */
export function installRealClis(): void {
  const wanted = stamp();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return;
  run('npm', ['ci', '--prefix', HERE, '--ignore-scripts', '--no-audit', '--no-fund', '--include=optional']);
  // The one script that is needed: it puts the binary of this platform in its place. npm may refuse to run it by itself.
  run(process.execPath, [join(HERE, 'node_modules', '@anthropic-ai', 'claude-code', 'install.cjs')]);
  for (const name of ['claude', 'codex']) run(join(realCliBin, name), ['--version']);
  writeFileSync(STAMP, wanted);
}

function stamp(): string {
  const lock = createHash('sha256')
    .update(readFileSync(join(HERE, 'package-lock.json')))
    .digest('hex');
  return `${lock} ${process.platform} ${process.arch}\n`;
}

function run(command: string, args: readonly string[]): void {
  const done = spawnSync(command, args, { cwd: HERE, env: cleanEnv(), encoding: 'utf8', timeout: 600_000 });
  if (done.status === 0) return;
  const cause = done.error?.message ?? `exit status ${done.status}, signal ${done.signal}`;
  throw new Error(`${command} ${args.join(' ')}: ${cause}\n${done.stdout ?? ''}\n${done.stderr ?? ''}`);
}

/** Without what an npm around this one says of its own package. */
function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|config_local)/i.test(name)),
  );
}
