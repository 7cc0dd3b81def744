export {
  type AccessedMessage,
  type AccessOptions,
  accessChannel,
  accessConversation,
  accessFile,
  accessImage,
  accessMessage,
  accessParent,
  conversationRowId,
  findChannel,
  noMember,
  recipientGone,
  requireAccess,
  requireRecipient,
  wireChannelId,
} from './access.ts'
export { canRead, canReadById, isReader, type Reading, type SqlUser } from './can-read.ts'
