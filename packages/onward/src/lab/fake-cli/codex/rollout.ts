import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { SessionDamage } from '../play.ts';
import { takeLock } from './writer-lock.ts';

/** One line of a rollout file. */
export interface RolloutLine {
  readonly type: string;
  readonly payload: { readonly [name: string]: unknown };
}

/** Tokens of a thread, summed over all its processes. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
}

/** A thread of Codex on disk: a rollout file, and a lock while a process writes it. */
export class Rollout {
  readonly path: string;
  #ordinal: number | undefined;

  private constructor(path: string) {
    this.path = path;
  }

  /** A new file for a new thread. */
  static create(id: string): Rollout {
    const now = new Date().toISOString();
    const folder = join(sessionsFolder(), ...now.slice(0, 10).split('-'));
    return new Rollout(join(folder, `rollout-${now.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`));
  }

  /** The file of a thread, if it has one that can be read. */
  static find(id: string): Rollout | undefined {
    const folder = sessionsFolder();
    if (id === '' || !existsSync(folder)) return undefined;
    const name = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((file) =>
      file.endsWith(`-${id}.jsonl`),
    );
    const rollout = name === undefined ? undefined : new Rollout(join(folder, name));
    return rollout !== undefined && rollout.lines()[0]?.type === 'session_meta' ? rollout : undefined;
  }

  /** Takes the lock; false when a living process has it. */
  lock(): boolean {
    mkdirSync(dirname(this.path), { recursive: true });
    return takeLock(`${this.path}.lock`);
  }

  /** Gives the lock back. */
  unlock(): void {
    rmSync(`${this.path}.lock`, { force: true });
  }

  /** Adds a line; the ordinals go on from those in the file. */
  add(type: string, payload: { readonly [name: string]: unknown }): void {
    this.#ordinal ??= this.lines().length;
    const line = { timestamp: new Date().toISOString(), ordinal: this.#ordinal++, type, payload };
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
  }

  /** The lines that can be read. */
  lines(): RolloutLine[] {
    if (!existsSync(this.path)) return [];
    const found: RolloutLine[] = [];
    for (const text of readFileSync(this.path, 'utf8').split('\n')) {
      try {
        if (text !== '') found.push(JSON.parse(text) as RolloutLine);
      } catch {
        // Skipped.
      }
    }
    return found;
  }

  /** What a model would be shown of it: messages and outputs of calls, not what was called. */
  visible(): string {
    return this.lines()
      .filter((line) => line.type === 'response_item' && line.payload['type'] !== 'function_call')
      .map((line) => JSON.stringify(line.payload['content'] ?? line.payload['output']))
      .join('\n');
  }

  /** Tokens so far. */
  usage(): TokenUsage {
    const counts = this.lines().filter((line) => line.payload['type'] === 'token_count');
    const info = counts.at(-1)?.payload['info'] as
      | { readonly total_token_usage?: { readonly [name: string]: number } }
      | null
      | undefined;
    return {
      input: info?.total_token_usage?.['input_tokens'] ?? 0,
      output: info?.total_token_usage?.['output_tokens'] ?? 0,
    };
  }

  /** Calls that have no output: the process died while they ran. */
  openCalls(): string[] {
    const lines = this.lines().map((line) => line.payload);
    const ended = new Set(
      lines.filter((item) => item['type'] === 'function_call_output').map((item) => item['call_id']),
    );
    return lines
      .filter((item) => item['type'] === 'function_call' && !ended.has(item['call_id']))
      .map((item) => String(item['call_id']));
  }

  /** Spoils the file. */
  damage(how: SessionDamage): void {
    if (!existsSync(this.path)) return;
    const content = readFileSync(this.path);
    switch (how) {
      case 'delete':
        return rmSync(this.path);
      case 'truncate':
        return truncateSync(this.path, content.indexOf('\n') + 1);
      case 'tear':
        return truncateSync(this.path, Math.max(0, content.length - 20));
      case 'garble':
        return writeFileSync(
          this.path,
          content.map((byte, index) => (index % 7 === 3 ? byte ^ 0x5a : byte)),
        );
      default:
        return how satisfies never;
    }
  }
}

function sessionsFolder(): string {
  return join(process.env['CODEX_HOME'] ?? join(process.env['HOME'] ?? homedir(), '.codex'), 'sessions');
}
