import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const STAMP = join(HERE, 'node_modules', '.installed');

/** Installs the pinned peers beside this file unless that very lock is installed already. Returns npm's words where it fails. */
export function installPeers(): string | undefined {
  const lock = createHash('sha256')
    .update(readFileSync(join(HERE, 'package-lock.json')))
    .digest('hex');
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lock) return undefined;
  const args = ['ci', '--prefix', HERE, '--ignore-scripts', '--no-audit', '--no-fund'];
  const done = spawnSync('npm', args, { cwd: HERE, env: cleanEnv(), encoding: 'utf8', timeout: 600_000 });
  if (done.status !== 0) return done.error?.message ?? `${done.stdout}\n${done.stderr}`.trim().slice(-1000);
  writeFileSync(STAMP, lock);
  return undefined;
}

/** Without what an npm around this one says of its own package. */
function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|config_local)/i.test(name)),
  );
}
