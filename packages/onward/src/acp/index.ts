/** Our agent in an editor, by the Agent Client Protocol. */
export { type AcpSessions, serveAcp, type ServeAcpOptions } from './serve-acp.ts';
