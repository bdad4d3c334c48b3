import { platform } from 'node:process';
import { OnwardError } from '../kernel/error.ts';

/**
 * Refuses native Windows: process groups, signals that can be caught and a readable process table do not exist there.
 * @throws OnwardError `processes/unsupported`
 */
export function requirePosix(what: string, on: NodeJS.Platform = platform): void {
  if (on !== 'win32') return;
  throw new OnwardError('processes/unsupported', `${what} does not work on native Windows.`, {
    next: ['Install WSL (`wsl --install`) and run Onward inside it: https://learn.microsoft.com/windows/wsl/install'],
  });
}
