import type { Notice } from '@agentclientprotocol/sdk';
import type { SessionEvent } from '../agent/index.ts';

/** What a person should hear beside the conversation: failed attempts, and what is done about them. */
export function noticeOf(event: SessionEvent): Notice | undefined {
  if (event.type === 'step.closed') {
    const { failure, outcome } = event.data;
    if (outcome !== 'failed' || failure === undefined) return undefined;
    const status = failure.status === undefined ? '' : ` (${failure.status})`;
    return { severity: 'warning', title: 'A model request failed', description: `${failure.message}${status}` };
  }
  if (event.type === 'history.replaced')
    return { severity: 'info', title: 'The history was shortened', description: event.data.because };
  return event.type === 'plugin.recorded' ? recorded(event.data.kind, event.data.data) : undefined;
}

/** Records of the plugins that recover; read as what anybody may have written. */
function recorded(kind: string, data: unknown): Notice | undefined {
  const record = (typeof data === 'object' && data !== null ? data : {}) as Readonly<Record<string, unknown>>;
  if (kind === 'retry.scheduled') {
    const { retry, max, delayMs } = record;
    if (typeof retry !== 'number' || typeof max !== 'number' || typeof delayMs !== 'number') return undefined;
    const title = `Retry ${retry} of ${max} in ${(delayMs / 1_000).toFixed(1)} s`;
    return { severity: 'info', title, description: `class: ${String(record['class'])}` };
  }
  if (kind === 'failover.switched')
    return {
      severity: 'warning',
      title: `Going on with ${String(record['to'])}`,
      description: String(record['because']),
    };
  return undefined;
}
