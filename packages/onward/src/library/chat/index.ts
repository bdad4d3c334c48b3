/** A chat with tools on one directory, as the command line and editors offer it. */
export { type Approve, readApprove } from './approval.ts';
export { type ChatRecord, chatRecordIn } from './chat-record.ts';
export { type ChatOptions, createChatAgent } from './create-chat-agent.ts';
export { type ModelChoice, modelName, resolveModel } from './resolve-model.ts';
