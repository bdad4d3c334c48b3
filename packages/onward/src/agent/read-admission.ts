import { takeContent } from './content.ts';
import type { Admission } from './plugin.ts';

/** What listeners made of a prompt. What is no admission, or has content that is none, throws. */
export function readAdmission(admission: unknown): Admission {
  const { kind, because, content, contexts } = (admission ?? {}) as Partial<Extract<Admission, { kind: 'allow' }>> & {
    readonly because?: unknown;
  };
  if ((kind as string) === 'block')
    return {
      kind: 'block',
      because: typeof because === 'string' ? because.slice(0, 1_000).toWellFormed() : 'by a listener',
    };
  if (kind !== 'allow') throw new TypeError('a listener gave no admission');
  return {
    kind,
    ...(content === undefined ? {} : { content: takeContent(content) }),
    ...(contexts === undefined ? {} : { contexts: contexts.map((context) => takeContent(context)) }),
  };
}
