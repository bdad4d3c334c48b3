import type { Agent } from '../../agent/index.ts';
import { OnwardError } from '../../kernel/error.ts';
import type { Journal } from '../../kernel/journal.ts';
import { type Approve, createChatAgent, modelName, readApprove, resolveModel } from '../../library/chat/index.ts';
import type { Io } from '../io.ts';
import { loadSession, type SessionInfo } from './session-info.ts';

/** What the command line says about a chat. */
export interface ChatFlags {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly approve?: string;
}

/** An open chat. */
export interface OpenChat {
  readonly agent: Agent;
  readonly model: string;
  readonly cwd: string;
  readonly approve: Approve;
  /** The session as it was found; `undefined` for a new one. */
  readonly found?: SessionInfo;
}

/** Begins a session in this directory. Throws as `resolveModel` does. */
export async function newChat(io: Io, journal: Journal, flags: ChatFlags): Promise<OpenChat> {
  const name = modelName({ ...flags, env: io.env });
  const approve = flags.approve === undefined ? 'none' : readApprove(flags.approve);
  const base = flags.baseUrl === undefined ? {} : { baseUrl: flags.baseUrl };
  const model = await resolveModel({ model: name, env: io.env, cwd: io.cwd, ...base });
  const agent = await createChatAgent({ model, cwd: io.cwd, journal, approve, env: io.env, ...base });
  return { agent, model: name, cwd: io.cwd, approve };
}

/**
 * Opens a session where it was made and with what it was made with; flags replace that. Throws `session/held`,
 * `session/not-a-chat` for one that a program made, and as `resolveModel` does.
 */
export async function openChat(
  io: Io,
  journal: Journal,
  wanted: ChatFlags & { readonly id: string; readonly recover: boolean },
): Promise<OpenChat> {
  const found = await loadSession(journal, wanted.id);
  const { record } = found;
  if (record === undefined)
    throw new OnwardError('session/not-a-chat', `Session ${wanted.id} was made by a program, with tools of its own.`, {
      place: wanted.id,
      next: ['Open it in that program, with openAgent().', `onward show ${wanted.id}`],
    });
  const name = modelName({ model: wanted.model ?? record.model, env: io.env });
  const approve = wanted.approve === undefined ? record.approve : readApprove(wanted.approve);
  // An address that goes with another model is not asked with this one.
  const url = wanted.baseUrl ?? (name === record.model ? record.baseUrl : undefined);
  const base = url === undefined ? {} : { baseUrl: url };
  const model = await resolveModel({ model: name, env: io.env, cwd: record.cwd, ...base });
  const { id, recover } = wanted;
  const agent = await createChatAgent({
    model,
    journal,
    id,
    recover,
    approve,
    env: io.env,
    ...base,
    cwd: record.cwd,
    open: true,
  });
  return { agent, model: name, cwd: record.cwd, approve, found };
}
