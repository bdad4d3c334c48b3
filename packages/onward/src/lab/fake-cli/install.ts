import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parsePlay } from './parse-play.ts';
import type { CliName, Play } from './play.ts';
import { PlayState, type Invocation } from './record.ts';

/** What to install. */
export interface InstallOptions {
  /** Folder for the executable; put it first in PATH. It is made when it does not exist. */
  readonly dir: string;
  readonly name: CliName;
  readonly play: Play;
  /**
   * `exec` (default): the program is one process. `parent`: it is a shell that waits for the real agent, so that a signal
   * to it alone misses the agent, as with wrappers of package managers.
   */
  readonly wrapper?: 'exec' | 'parent';
}

/** An installed stand-in. */
export interface FakeCli {
  /** Absolute path of the executable. */
  readonly command: string;
  /** The folder to put into PATH. */
  readonly dir: string;
  /** All its starts so far, oldest first. */
  invocations(): Invocation[];
  /** How many attempts of the play have begun. */
  attempts(): number;
  /** Replaces the play; the counter goes on. */
  setPlay(play: Play): void;
}

/**
 * Puts an executable named `claude` or `codex` into a folder, which plays `play` under the Node that runs now. Installing
 * again in the same folder starts the play from its beginning.
 *
 * @throws PlayError `play/invalid` with the place of the fault.
 */
export function installFakeCli({ dir, name, play, wrapper = 'exec' }: InstallOptions): FakeCli {
  const folder = resolve(dir);
  const stateFolder = join(folder, `.fake-${name}`);
  const playFile = join(folder, `${name}.play.json`);
  rmSync(stateFolder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const setPlay = (next: Play): void => writeFileSync(playFile, `${JSON.stringify(parsePlay(next), null, 2)}\n`);
  setPlay(play);
  const state = new PlayState(stateFolder);
  const command = join(folder, name);
  const words = [process.execPath, mainFile(), name, playFile, stateFolder].map(quoted).join(' ');
  writeFileSync(command, `#!/bin/sh\n${wrapper === 'exec' ? `exec ${words} "$@"` : `${words} "$@"\nexit $?`}\n`);
  chmodSync(command, 0o755);
  return { command, dir: folder, invocations: () => state.invocations(), attempts: () => state.attempts(), setPlay };
}

/** The program beside this file, compiled or not. */
function mainFile(): string {
  const own = import.meta.url;
  return fileURLToPath(new URL(own.endsWith('.ts') ? './main.ts' : './main.js', own));
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
