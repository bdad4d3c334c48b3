import { expect } from 'vitest';
import type { StoredEvent } from '../../../../src/kernel/envelope.ts';

interface Data {
  readonly n?: number;
  readonly by?: number;
  readonly marker?: string;
}

/** What must hold for every run's stream that has come to its end, whatever happened on the way. */
export function checkInvariants(events: readonly StoredEvent[]): void {
  const types = events.map((event) => event.type);
  expect(events.map((event) => event.position)).toEqual(events.map((_, index) => index + 1));
  expect(types[0]).toBe('run.accepted');
  expect(types.filter((type) => type === 'run.accepted')).toHaveLength(1);
  expect(types.filter((type) => type === 'run.ended')).toHaveLength(1);
  expect(types.at(-1)).toBe('run.ended');
  checkEpochs(events);
  let live: number | undefined;
  let last = 0;
  const markers = new Set<string>();
  for (const [index, event] of events.entries()) {
    const { n, marker, by } = event.data as Data;
    switch (event.type) {
      case 'attempt.started':
        expect(live, 'at most one live attempt').toBeUndefined();
        expect(n).toBe(last + 1);
        expect(markers.has(marker ?? '')).toBe(false);
        markers.add(marker ?? '');
        live = n;
        last = n ?? 0;
        break;
      case 'attempt.failed':
        expect(n).toBe(live);
        expect(types[index + 1], 'a failure and its decision are one append').toBe('recovery.decided');
        break;
      case 'recovery.decided':
        expect(types[index - 1]).toBe('attempt.failed');
        expect(n).toBe(live);
        live = undefined;
        break;
      case 'attempt.superseded':
        expect(n).toBe(last);
        expect(by).toBe(last + 1);
        expect(types[index + 1]).toBe('attempt.started');
        break;
      case 'attempt.committed':
        expect(n).toBe(live);
        live = undefined;
        break;
      case 'attempt.spawned':
      case 'attempt.session':
      case 'message.committed':
      case 'call.started':
      case 'call.finished':
      case 'call.refused':
      case 'request.retried':
      case 'usage.reported':
      case 'line.rejected':
        expect(n, `${event.type} belongs to the live attempt`).toBe(live);
        break;
      case 'run.paused':
      case 'run.resumed':
      case 'run.ended':
        expect(live, `no attempt lives at ${event.type}`).toBeUndefined();
        break;
      default:
        break;
    }
  }
}

function checkEpochs(events: readonly StoredEvent[]): void {
  let epoch = 0;
  for (const event of events.slice(1)) {
    expect(event.epoch ?? 0).toBeGreaterThanOrEqual(epoch);
    epoch = event.epoch ?? 0;
  }
}
