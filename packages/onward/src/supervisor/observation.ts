import type { Json } from '../kernel/json.ts';

/** What one line of the agent's output says. `reply` lines are written back once the observation is durable. */
export type Observation =
  | {
      readonly kind: 'session';
      readonly id: string;
      readonly model?: string;
      readonly permissions?: string;
      readonly version?: string;
    }
  /** Text as it comes; live only, never recorded. */
  | { readonly kind: 'delta'; readonly text: string }
  /** A block of text whose message the agent itself has ended. */
  | { readonly kind: 'message'; readonly id: string; readonly text: string }
  | {
      readonly kind: 'call-intended';
      readonly callId: string;
      readonly tool: string;
      readonly input: Json;
      readonly reply: string;
    }
  | { readonly kind: 'call-started'; readonly callId: string; readonly tool: string; readonly input: Json }
  | {
      readonly kind: 'call-finished';
      readonly callId: string;
      readonly ok: boolean;
      readonly output: string;
      readonly reply?: string;
    }
  /** The agent repeats a request by itself. */
  | {
      readonly kind: 'inner-retry';
      readonly attempt: number;
      readonly status?: number;
      readonly category?: string;
      readonly delayMs?: number;
    }
  | {
      readonly kind: 'usage';
      readonly scope: 'own' | 'cumulative';
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly usd?: number;
    }
  /** Anything else that shows life: keeps the idle watchdog quiet. */
  | { readonly kind: 'alive' }
  | { readonly kind: 'notice'; readonly text: string }
  | { readonly kind: 'reply'; readonly line: string }
  /** The agent has said its last word of this attempt (background work included); its input may end. */
  | { readonly kind: 'result' }
  /** A line that is not what this agent writes; recorded, never acted on. */
  | { readonly kind: 'malformed'; readonly reason: string };
