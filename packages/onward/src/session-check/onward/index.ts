import { OnwardError } from '../../kernel/error.ts';
import type { Finding } from '../finding.ts';
import { editJson, findSpan } from '../json-edit.ts';
import { asText } from '../json-shape.ts';
import { ownRules } from '../provider-rules.ts';
import type { SessionReader } from '../session-reader.ts';
import { Conversation } from './conversation.ts';
import { planEvents } from './rewrite.ts';

const PREFIX = 'session:';

/** Reads the stored events of one of our own sessions, one a line (`session:<id>`). */
export function createOnwardReader(): SessionReader {
  const conversation = new Conversation();
  const findings: Finding[] = [];
  let stream: string | undefined;
  let last: number | undefined;
  let isCut = false;
  return {
    format: 'onward',
    take(line, value) {
      if (isCut) return;
      const of = asText(value['stream']);
      stream ??= of;
      if (of !== stream) throw severalStreams(stream, of, line);
      const position = Number(value['position']);
      if (last !== undefined && position <= last) {
        const says = `This event has the position ${position}, which was there before.`;
        findings.push({ kind: 'repeated-event', line, says, repair: { do: 'drop-line', line } });
        return;
      }
      if (last !== undefined && position !== last + 1) {
        const says = `Between position ${last} and this one (${position}) events are missing: what follows cannot be trusted.`;
        findings.push({ kind: 'missing-events', line, says, repair: { do: 'cut', from: line } });
        isCut = true;
        return;
      }
      last = position;
      conversation.take(line, value);
    },
    finish: () => ({
      id: stream?.slice(PREFIX.length),
      history: conversation.history(),
      rules: { ...ownRules, origin: conversation.model },
      findings,
      plan: (repairs) => planEvents(repairs, conversation),
    }),
    renumber,
  };
}

function severalStreams(first: string, other: string, line: number): OnwardError {
  return new OnwardError(
    'session/several-streams',
    other === ''
      ? `The file has events of ${first}, and a line that is none.`
      : `The file has events of ${first} and of ${other}.`,
    {
      place: `line ${line}`,
      next: ['Check a file with the events of one session: onward tail --json ID > FILE'],
    },
  );
}

/** Positions are gapless: an added or lost event moves those after it, and nothing else of them changes. */
function renumber(text: string, last: number | undefined): { readonly text: string; readonly last: number } {
  const span = findSpan(text, ['position']);
  const now = span === undefined ? 0 : Number(text.slice(span.start, span.end));
  const wanted = last === undefined ? now : last + 1;
  if (now === wanted) return { text, last: wanted };
  return { text: editJson(text, [{ at: ['position'], do: 'replace', text: String(wanted) }]), last: wanted };
}
