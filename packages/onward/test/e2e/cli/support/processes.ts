import { readdirSync, readFileSync } from 'node:fs';

/** Every live process whose environment holds `text`: a place's own HOME, which all that it starts inherits. */
export function processesWith(text: string): readonly { readonly pid: number; readonly command: string }[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text)) return [];
      if (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.startsWith('Z') === true) return [];
      return [{ pid, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() }];
    } catch {
      // It has ended meanwhile, or it is the kernel's.
      return [];
    }
  });
}

/** `kill` that does not mind when the process has gone already. */
export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Gone is what was wanted.
  }
}
