import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { SessionDamage } from '../play.ts';

/** One block of a message, as far as the stand-in looks into it. */
export type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: unknown }
  | {
      readonly type: 'tool_result';
      readonly tool_use_id: string;
      readonly content: string;
      readonly is_error: boolean;
    };

interface SavedLine {
  readonly type: string;
  readonly uuid?: string;
  readonly isApiErrorMessage?: boolean;
  readonly message: { readonly role: string; readonly content: string | readonly Block[] };
}

/** A session of Claude Code on disk: one JSONL file per session, in a folder named after the working directory. */
export class SessionFile {
  readonly path: string;
  readonly #id: string;
  #parent: string | null = null;

  constructor(id: string) {
    this.#id = id;
    const home = process.env['CLAUDE_CONFIG_DIR'] ?? join(process.env['HOME'] ?? homedir(), '.claude');
    const folder = process.cwd().replaceAll(/[^a-zA-Z0-9]/g, '-');
    this.path = join(home, 'projects', folder, `${id}.jsonl`);
  }

  /** True when the session could be resumed here. */
  exists(): boolean {
    return existsSync(this.path);
  }

  /** Adds a message. */
  save(
    role: 'user' | 'assistant',
    content: string | readonly Block[],
    more: { readonly [name: string]: unknown } = {},
  ): void {
    mkdirSync(dirname(this.path), { recursive: true });
    const uuid = randomUUID();
    const line = {
      parentUuid: this.#parent,
      isSidechain: false,
      userType: 'external',
      cwd: process.cwd(),
      sessionId: this.#id,
      version: '2.1.197',
      type: role,
      message: { role, content },
      uuid,
      timestamp: new Date().toISOString(),
      ...more,
    };
    this.#parent = uuid;
    appendFileSync(this.path, `${JSON.stringify(line)}\n`);
  }

  /** Adds a line that is no message, as the real file has between and after them. */
  note(line: { readonly [name: string]: unknown }): void {
    mkdirSync(dirname(this.path), { recursive: true });
    appendFileSync(this.path, `${JSON.stringify({ ...line, sessionId: this.#id })}\n`);
  }

  /** The saved messages that can be read; a torn or garbled one is skipped, as the real CLI does. */
  lines(): SavedLine[] {
    if (!this.exists()) return [];
    const found: SavedLine[] = [];
    for (const text of readFileSync(this.path, 'utf8').split('\n')) {
      try {
        const line = text === '' ? {} : (JSON.parse(text) as Partial<SavedLine>);
        if (line.message !== undefined) found.push(line as SavedLine);
      } catch {
        // Skipped.
      }
    }
    this.#parent = found.at(-1)?.uuid ?? this.#parent;
    return found;
  }

  /** What a model would be shown of it: texts and results of tools, not what the tools were asked. */
  visible(): string {
    return this.lines()
      .map((line) => contentText(line.message.content))
      .join('\n');
  }

  /** True when the last saved message is a finished answer. */
  settled(): boolean {
    const last = this.lines().at(-1);
    return last?.type === 'assistant' && last.isApiErrorMessage !== true;
  }

  /** Spoils the file. */
  damage(how: SessionDamage): void {
    if (!this.exists()) return;
    const content = readFileSync(this.path);
    switch (how) {
      case 'delete':
        return rmSync(this.path);
      case 'truncate':
        return truncateSync(this.path, Math.min(content.length, content.indexOf('\n') + 1));
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

function contentText(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content;
  return content
    .map((block) => (block.type === 'text' ? block.text : block.type === 'tool_result' ? block.content : ''))
    .join('\n');
}
