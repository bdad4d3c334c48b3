/**
 * The part of `AbortSignal` that Onward uses, stated structurally so that the kernel needs no platform types.
 * Any `AbortSignal` is one.
 */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}
