import { ok } from 'node:assert/strict';
import type { AlteredField, Damage, JournalCase, JournalHarness } from '../journal-case.ts';
import { add, event, expectCode, expectData, withJournal } from './support.ts';

const fields: readonly AlteredField[] = ['at', 'epoch', 'type', 'v', 'id', 'ignorable', 'data', 'checksum'];

async function fill(harness: JournalHarness): Promise<void> {
  await withJournal(harness, async (journal) => {
    const events = [event('one'), event('two', { id: 'm', ignorable: true }), event('three')];
    await journal.append([{ stream: 'run:a', expected: 0, events }]);
    await add(journal, 'run:b', 'sound');
  });
}

async function expectDamage(harness: JournalHarness, damage: Damage, place: string): Promise<void> {
  ok(harness.damage !== undefined, 'a damageable harness does damage');
  await harness.damage(damage);
  await withJournal(harness, async (journal) => {
    await expectCode(journal.read('run:a'), 'journal/damaged', place);
    // Only the damaged stream is refused.
    await expectData(journal, 'run:b', ['sound']);
    await add(journal, 'run:b', 'still writable');
  });
}

/** Damage is found with its place, whatever was harmed. */
export const damageCases: readonly JournalCase[] = [
  ...fields.map((field): JournalCase => ({
    name: `an event whose ${field} was altered refuses its stream with the place`,
    needs: ['durable', 'damageable'],
    run: async (harness) => {
      await fill(harness);
      await expectDamage(harness, { kind: 'alter', stream: 'run:a', position: 2, field }, 'run:a@2');
    },
  })),
  ...([1, 2, 3] as const).map((position): JournalCase => ({
    name: `event ${position} of 3 removed refuses its stream with the place`,
    needs: ['durable', 'damageable'],
    run: async (harness) => {
      await fill(harness);
      await expectDamage(harness, { kind: 'remove', stream: 'run:a', position }, `run:a@${position}`);
    },
  })),
];
