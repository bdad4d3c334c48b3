import type { Ids } from '../kernel/ports.ts';
import type { Finding } from './finding.ts';
import type { JsonObject } from './json-shape.ts';
import type { History } from './message-form.ts';
import type { PlannedRepair } from './plan-repair.ts';
import type { ProviderRules } from './provider-rules.ts';

/** Whose session files are known. */
export type SessionFormat = 'claude' | 'codex' | 'onward';

/** What a file says: the conversation, and what is wrong with how it is written down. */
export interface ReadSession {
  readonly id: string | undefined;
  readonly history: History;
  readonly rules: ProviderRules;
  readonly findings: readonly Finding[];
  /** How the repairs change the file. */
  plan(repairs: readonly PlannedRepair[], ids: Ids): RewritePlan;
}

/** What becomes of one line, and what stands around it. */
export interface LineChange {
  readonly before: readonly string[];
  /** `undefined`: it is left out. */
  readonly own: string | undefined;
  readonly after: readonly string[];
}

/** Changes by the number of the line. Lines that are not named stay as they are. */
export type LineChanges = ReadonlyMap<number, LineChange>;

/** A change of the file, before the lines that it touches were read again. */
export interface RewritePlan {
  /** Numbers of the lines whose text `write` needs. */
  readonly needs: ReadonlySet<number>;
  write(texts: ReadonlyMap<number, string>): LineChanges;
}

/** Takes the lines of one file in order. One reader for one file. */
export interface SessionReader {
  readonly format: SessionFormat;
  /** A line that could be read. */
  take(line: number, value: JsonObject): void;
  finish(): ReadSession;
  /** Where lines have numbers of their own: the text with the number that it must have, given that of the line before. */
  readonly renumber?: (text: string, last: number | undefined) => { readonly text: string; readonly last: number };
}
