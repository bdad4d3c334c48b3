/** How messages reach the work of an engine; stated in the kernel, since whoever answers or cancels knows no engine. */
export { cancelMessage, inboxOf, keyOfInbox, messageTo } from '../kernel/inbox.ts';
