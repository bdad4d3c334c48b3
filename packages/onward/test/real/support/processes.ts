import { readdirSync, readFileSync } from 'node:fs';

/** A live process, as a failure message shows it. */
export interface LiveProcess {
  readonly pid: number;
  readonly parent: number;
  /** One letter of the system, such as `T` for stopped. */
  readonly state: string;
  readonly command: string;
}

/** Every live process whose environment holds `text`: a run's own HOME, which all that it starts inherits. */
export function processesWith(text: string): readonly LiveProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text)) return [];
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      if (stat[0] === 'Z') return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      return [{ pid, parent: Number(stat[1]), state: stat[0] ?? '', command }];
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
