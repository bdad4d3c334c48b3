import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { realCliBin } from '../../../../../tools/real-clis/install.ts';
import { kill, processesWith } from './processes.ts';

/** A HOME, a working directory and a state folder of one run alone. */
export interface Place {
  readonly home: string;
  readonly cwd: string;
  readonly journal: string;
  /** Programs that stand in front of the real ones. */
  readonly bin: string;
  readonly env: Readonly<Record<string, string>>;
  write(path: string, text: string): void;
  /** A file's text; empty when there is none. */
  read(path: string): string;
  /** How often each word is in `effects.log`. */
  effects(): Readonly<Record<string, number>>;
}

/** A new place with the pinned CLIs in front of the search path. After the test nothing of it is left, processes included. */
export function createPlace(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'onward-real-')));
  const at = (name: string): string => join(root, name);
  for (const name of ['home', 'work', 'state', 'bin']) mkdirSync(at(name));
  onTestFinished(() => {
    for (const { pid } of processesWith(at('home'))) kill(pid, 'SIGKILL');
    if (process.env['ONWARD_REAL_KEEP'] === undefined) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  });
  return {
    home: at('home'),
    cwd: at('work'),
    journal: join(at('state'), 'onward', 'journal.db'),
    bin: at('bin'),
    env: {
      PATH: [at('bin'), realCliBin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      HOME: at('home'),
      XDG_STATE_HOME: at('state'),
      LANG: 'C.UTF-8',
    },
    write: (path, text) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text, { mode: 0o755 });
    },
    read: (path) => readOrNothing(join(root, path)),
    effects: () => countWords(join(at('work'), 'effects.log')),
  };
}

function countWords(path: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of readOrNothing(path).split('\n')) if (word !== '') counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
