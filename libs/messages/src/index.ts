export {
  audienceOfMessage,
  messageAudience,
  recordMessageDeleted,
  recordMessageUpdated,
  recordReplyDeleted,
} from './messages.events.ts'
export { findMessage, findParticipants, lastReplier, selectMessages, webhookAuthor } from './messages.queries.ts'
