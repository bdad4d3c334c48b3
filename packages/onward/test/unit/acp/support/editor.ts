import {
  client,
  type ClientContext,
  type PromptResponse,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';

/** An editor as tests need it: the SDK's client, with everything that it was told. */
export interface Editor {
  readonly agent: ClientContext;
  /** Sends a prompt of one text. */
  readonly prompt: (session: string, text: string) => Promise<PromptResponse>;
  /** All updates so far. */
  readonly updates: readonly SessionUpdate[];
  readonly permissions: readonly RequestPermissionRequest[];
  readonly closed: Promise<void>;
  /** What a message of the agent consists of so far, by its id. */
  texts(kind?: SessionUpdate['sessionUpdate']): readonly string[];
  /** Waits until something holds of the updates; looked at whenever one comes. */
  until(what: string, holds: () => boolean): Promise<void>;
  close(): void;
}

/** How an editor behaves. */
export interface EditorOptions {
  readonly notices?: boolean;
  readonly onPermission?: (
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ) => RequestPermissionResponse | Promise<RequestPermissionResponse>;
}

const PATIENCE = 10_000;

/** Connects an editor to a server of ACP, and initializes. */
export async function connectEditor(
  streams: { readonly toAgent: WritableStream<Uint8Array>; readonly fromAgent: ReadableStream<Uint8Array> },
  options: EditorOptions = {},
): Promise<Editor> {
  const updates: SessionUpdate[] = [];
  const permissions: RequestPermissionRequest[] = [];
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const look of waiting) look();
  };
  const app = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      updates.push(params.update);
      changed();
    })
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      permissions.push(params);
      changed();
      return (await options.onPermission?.(params, signal)) ?? { outcome: { outcome: 'cancelled' } };
    });
  const connection = app.connect(ndJsonStream(streams.toAgent, streams.fromAgent));
  await connection.agent.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: options.notices === true ? { session: { notices: {} } } : {},
  });
  return {
    agent: connection.agent,
    prompt: async (sessionId, text) =>
      await connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }),
    updates,
    permissions,
    closed: connection.closed,
    texts: (kind = 'agent_message_chunk') =>
      updates.flatMap((update) =>
        update.sessionUpdate === kind && 'content' in update && isText(update.content) ? [update.content.text] : [],
      ),
    until: async (what, holds) => {
      if (holds()) return;
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`${what}: not so within ${PATIENCE} ms`)), PATIENCE);
        const look = (): void => {
          if (!holds()) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        void connection.closed.then(look);
      });
    },
    close: () => connection.close(),
  };
}

function isText(content: unknown): content is { readonly type: 'text'; readonly text: string } {
  return typeof content === 'object' && content !== null && 'type' in content && content.type === 'text';
}
