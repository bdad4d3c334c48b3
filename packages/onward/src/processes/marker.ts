import { OnwardError } from '../kernel/error.ts';

/** The variable that every process of an attempt inherits, also one in a session of its own or adopted by init. */
export const MARKER_VARIABLE = 'ONWARD_ATTEMPT';

/** What our guards carry in its place: they belong to no attempt, so that no sweep of an outer one takes them first. */
export const GUARD_MARKER = 'guard';

/**
 * A marker is compared as a whole, passed to `sh` and `grep -F`, and printed: letters, digits and `._:-`, 8 to 200 of them.
 * @throws OnwardError `processes/bad-marker`
 */
export function requireMarker(marker: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._:-]{7,199}$/.test(marker)) return;
  throw new OnwardError('processes/bad-marker', `${JSON.stringify(marker)} cannot mark an attempt.`, {
    next: ['Use 8 to 200 letters, digits, dots, colons, hyphens or underscores, for instance a UUID.'],
  });
}
