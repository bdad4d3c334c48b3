import type { Journal } from '../kernel/journal.ts';
import type { ElsewhereReport, ElsewhereWork } from './journal-cases/elsewhere.ts';

/**
 * What a store can do besides the rules that hold for all: keep its events when it is closed (`durable`), serve several
 * processes (`multiProcess`), and be harmed from outside by the harness (`damageable`).
 */
export type JournalCapability = 'durable' | 'multiProcess' | 'damageable';

/** Harm done to the medium behind the store's back. */
export type Damage =
  | { readonly kind: 'alter'; readonly stream: string; readonly position: number; readonly field: AlteredField }
  | { readonly kind: 'remove'; readonly stream: string; readonly position: number };

/** The parts of a stored event that the contract protects. */
export type AlteredField = 'at' | 'epoch' | 'type' | 'v' | 'id' | 'ignorable' | 'data' | 'checksum';

/** What a store gives the suite: one empty journal per harness. Optional members belong to capabilities. */
export interface JournalHarness {
  readonly capabilities: readonly JournalCapability[];
  /** A handle on the journal of this harness, with the usual payload cap. A store that is not durable gives the same one each time. */
  open(): Promise<Journal>;
  /** Moves the wall clock of all handles forward. */
  advance(ms: number): void;
  /** How much the racing cases do: processes, and appends of each. */
  readonly racing: { readonly processes: number; readonly appends: number };
  /** `multiProcess`: does the work in a process of its own by calling `workElsewhere` with a handle. */
  elsewhere?(work: ElsewhereWork): Promise<ElsewhereReport>;
  /** `damageable`: harms the medium while no handle is open. */
  damage?(damage: Damage): Promise<void>;
}

/** One rule of the journal contract. Throws when the store breaks it. */
export interface JournalCase {
  readonly name: string;
  readonly needs: readonly JournalCapability[];
  run(harness: JournalHarness): Promise<void>;
}
