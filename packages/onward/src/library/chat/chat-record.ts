import type { SessionEvent } from '../../agent/index.ts';
import type { Plugin, PluginHost } from '../../agent/plugin.ts';
import type { Approve } from './approval.ts';

/** What a chat works with: enough to go on with it in another process. */
export interface ChatRecord {
  readonly cwd: string;
  readonly model: string;
  readonly approve: Approve;
  /** Only where the command line named one. */
  readonly baseUrl?: string;
}

const name = 'chat';
const kind = 'opened';

/** The plugin that keeps the record in the session. `write` records it once the session is open, if it has changed. */
export function chatRecorder(record: ChatRecord): { readonly plugin: Plugin; readonly write: () => Promise<void> } {
  let host: PluginHost | undefined;
  let latest: (() => ChatRecord | undefined) | undefined;
  return {
    plugin: {
      name,
      setup(given) {
        host = given;
        latest = given.fold<ChatRecord | undefined>(undefined, (state, event) => chatRecordIn(event) ?? state);
      },
    },
    async write() {
      if (JSON.stringify(latest?.()) === JSON.stringify(record)) return;
      await host?.record(kind, { ...record });
    },
  };
}

/** The record that an event of a session holds, if it holds one. */
export function chatRecordIn(event: SessionEvent): ChatRecord | undefined {
  if (event.type !== 'plugin.recorded' || event.data.plugin !== name || event.data.kind !== kind) return undefined;
  const { cwd, model, approve, baseUrl } = event.data.data as Partial<Record<keyof ChatRecord, unknown>>;
  if (typeof cwd !== 'string' || typeof model !== 'string') return undefined;
  return {
    cwd,
    model,
    // What nobody can read asks for everything.
    approve: approve === 'all' || approve === 'edits' ? approve : 'none',
    ...(typeof baseUrl === 'string' ? { baseUrl } : {}),
  };
}
