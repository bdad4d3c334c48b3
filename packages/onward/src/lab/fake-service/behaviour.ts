import { LabError } from '../model-server/lab-error.ts';

/** What becomes of one request for an effect. Times are ms. */
export type Treatment =
  /** Accepted and answered. */
  | { readonly kind: 'accept' }
  /** Accepted; the connection is reset before the answer. */
  | { readonly kind: 'drop-answer' }
  /** Reset before anything was done. The caller cannot tell it from the one above. */
  | { readonly kind: 'drop-request' }
  /** Accepted at once, answered later. */
  | { readonly kind: 'answer-late'; readonly afterMs: number }
  /** Accepted later, then answered: the caller may have gone by then. */
  | { readonly kind: 'accept-late'; readonly afterMs: number }
  /** Accepted, and then answered with an error of the server. */
  | { readonly kind: 'accept-and-fail'; readonly status: number }
  /** Not done, and said so. */
  | { readonly kind: 'refuse'; readonly status: number; readonly message?: string };

/** How the service can be asked about a key. */
export interface LookupBehaviour {
  /** False: it answers 503 to every question. */
  readonly works?: boolean;
  /** Says that there is nothing for so many questions about each key. */
  readonly absentFor?: number;
  /** Says that there is nothing for so long after the acceptance, ms. */
  readonly absentMs?: number;
}

/** How a service behaves. Without anything it accepts, dedupes on the key, and answers questions truthfully. */
export interface ServiceBehaviour {
  /** What becomes of the first request, the second, and so on; all later ones are accepted. */
  readonly treatments?: readonly Treatment[];
  /** Whether the same Idempotency-Key gives the first receipt again instead of another acceptance. Default true. */
  readonly dedupes?: boolean;
  /** Keys are forgotten so long after their acceptance, ms; then they are new to it, also when it is asked. */
  readonly forgetsAfterMs?: number;
  /** Only so many keys are remembered, the newest. */
  readonly remembers?: number;
  readonly lookup?: LookupBehaviour;
}

const TIMED = ['answer-late', 'accept-late'] as const;
const KINDS = ['accept', 'drop-answer', 'drop-request', 'accept-and-fail', 'refuse', ...TIMED] as const;

/** Throws `LabError` for a behaviour that makes no sense. */
export function checkBehaviour({
  treatments = [],
  lookup = {},
  remembers = 0,
  forgetsAfterMs = 0,
}: ServiceBehaviour): void {
  for (const [index, treatment] of treatments.entries()) checkTreatment(`treatments[${index}]`, treatment);
  const numbers = { remembers, forgetsAfterMs, absentFor: lookup.absentFor ?? 0, absentMs: lookup.absentMs ?? 0 };
  for (const [field, value] of Object.entries(numbers)) checkNumber(field, value);
}

function checkTreatment(place: string, treatment: Treatment): void {
  if (!KINDS.includes(treatment.kind))
    throw bad(place, `has the kind ${JSON.stringify(treatment.kind)}; there is ${KINDS.join(', ')}`);
  if ('afterMs' in treatment) checkNumber(`${place}.afterMs`, treatment.afterMs);
  else if ((TIMED as readonly string[]).includes(treatment.kind)) throw bad(place, 'has no afterMs');
  if (treatment.kind !== 'refuse' && treatment.kind !== 'accept-and-fail') return;
  const [least, most] = treatment.kind === 'refuse' ? [400, 499] : [500, 599];
  const isStatus = Number.isInteger(treatment.status) && treatment.status >= least && treatment.status <= most;
  if (!isStatus) throw bad(place, `has the status ${treatment.status}; it is one from ${least} to ${most}`);
}

function checkNumber(place: string, value: number): void {
  if (!Number.isFinite(value) || value < 0) throw bad(place, `is ${value}, which is no number from 0`);
}

function bad(place: string, what: string): LabError {
  return new LabError('lab.bad-script', `The behaviour of the fake service makes no sense: ${place} ${what}.`);
}
