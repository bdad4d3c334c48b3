import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { OnwardError } from '../../kernel/error.ts';

/** The one directory that the tools of a chat may touch. */
export interface Workspace {
  /** Its real path. */
  readonly root: string;
  /**
   * The real path of something that is there. Throws `chat/outside` for what is not inside, `..` and links that lead out
   * included, and `chat/no-file` for what is not there.
   */
  existing(path: string): Promise<string>;
  /** As {@link existing} for a file that may still be made; its directory may be missing, too. */
  writable(path: string): Promise<string>;
  /** The path as the model should see it: relative to the root. */
  shown(path: string): string;
}

/** The workspace of a directory. Throws what the system throws when there is none. */
export async function openWorkspace(cwd: string): Promise<Workspace> {
  const root = await realpath(cwd);
  const inside = (path: string, asked: string): string => {
    if (path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)) return path;
    throw outside(asked);
  };
  return {
    root,
    async existing(asked) {
      const path = within(root, asked);
      const real = await realpath(path).catch(() => undefined);
      if (real !== undefined) return inside(real, asked);
      throw new OnwardError('chat/no-file', `There is no ${asked}.`, { place: asked });
    },
    async writable(asked) {
      const path = within(root, asked);
      if (path === root) throw outside(asked);
      const known = await lstat(path).catch(() => undefined);
      // A link that leads nowhere yet would be followed by whoever writes through it.
      if (known?.isSymbolicLink() === true && (await realpath(path).catch(() => undefined)) === undefined)
        throw outside(asked);
      if (known !== undefined) return inside(await realpath(path), asked);
      return join(inside(await realFolder(dirname(path)), asked), basename(path));
    },
    shown: (path) => relative(root, path) || '.',
  };
}

/** The path as it is spelled, if it is spelled decently: `..` is refused even where it would stay inside. */
function within(root: string, asked: string): string {
  if (asked.includes('\0') || asked.split(/[\\/]/).includes('..')) throw outside(asked);
  return isAbsolute(asked) ? resolve(asked) : resolve(root, asked);
}

/** The real path of a folder of which the last parts may still be missing. */
async function realFolder(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    // oxlint-disable-next-line no-await-in-loop -- upwards until something is there
    if ((await lstat(at).catch(() => undefined)) !== undefined || at === dirname(at))
      // oxlint-disable-next-line no-await-in-loop
      return join(await realpath(at), ...missing);
    missing.unshift(basename(at));
  }
}

function outside(asked: string): OnwardError {
  return new OnwardError('chat/outside', `${JSON.stringify(asked)} is not inside of the working directory.`, {
    place: asked,
    next: ['Use a path below the working directory, without ".." and without links that lead out of it.'],
  });
}
