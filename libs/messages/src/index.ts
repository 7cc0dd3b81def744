export {
  audienceOfMessage,
  audienceOfPlace,
  recordMessageDeleted,
  recordMessageUpdated,
  recordReplyDeleted,
} from './messages.events.ts'
export {
  findMessage,
  findMessages,
  findParticipants,
  lastReplier,
  selectMessages,
  webhookAuthor,
} from './messages.queries.ts'
