import { assertNever } from '../kernel/error.ts';
import type { CallPart, MediaPart, Part, ResultPart } from './message-form.ts';

/** What can be wrong with a session file. */
export type FindingKind =
  | 'torn-tail'
  | 'unreadable-line'
  | 'invalid-utf8'
  | 'byte-order-mark'
  | 'broken-link'
  | 'missing-events'
  | 'repeated-event'
  | 'call-without-result'
  | 'result-without-call'
  | 'duplicate-call'
  | 'duplicate-result'
  | 'result-out-of-place'
  | 'empty-thinking'
  | 'unsigned-thinking'
  | 'foreign-thinking'
  | 'oversized-media'
  | 'too-many-images'
  | 'empty-message'
  | 'empty-text'
  | 'assistant-first';

/** What a repair does about one finding. */
export type Repair =
  | { readonly do: 'drop'; readonly part: Part }
  | { readonly do: 'answer'; readonly call: CallPart }
  | { readonly do: 'move'; readonly result: ResultPart; readonly call: CallPart }
  | { readonly do: 'rekey'; readonly call: CallPart; readonly result?: ResultPart; readonly id: string }
  | { readonly do: 'note'; readonly part: MediaPart }
  | { readonly do: 'open'; readonly before: Part }
  | { readonly do: 'drop-line'; readonly line: number }
  | { readonly do: 'mend-line'; readonly line: number }
  | { readonly do: 'link'; readonly line: number; readonly to: string }
  | { readonly do: 'cut'; readonly from: number };

/** Something that a provider would refuse, or that cannot be read. */
export interface Finding {
  readonly kind: FindingKind;
  /** Line of the file, from 1. */
  readonly line: number;
  /** Of the call that it is about. */
  readonly id?: string;
  /** One plain sentence. */
  readonly says: string;
  readonly repair: Repair;
}

/** What the repair does, in words. */
export function describeRepair(repair: Repair): string {
  switch (repair.do) {
    case 'drop':
      return repair.part.kind === 'nothing' ? 'leaves the message out' : `leaves the ${nameOf(repair.part)} out`;
    case 'answer':
      return 'adds a result that says it was interrupted';
    case 'move':
      return 'puts the result right after its call';
    case 'rekey':
      return `gives it the id ${repair.id}`;
    case 'note':
      return 'puts a note in its place';
    case 'open':
      return 'adds a note of the user in front';
    case 'drop-line':
      return 'leaves the line out';
    case 'mend-line':
      return 'replaces the bytes that are no text';
    case 'link':
      return 'links it to the message before';
    case 'cut':
      return `leaves out everything from line ${repair.from} on`;
    default:
      return assertNever(repair, 'describeRepair');
  }
}

function nameOf(part: Part): string {
  return part.kind === 'other' || part.kind === 'nothing' ? 'block' : part.kind;
}
