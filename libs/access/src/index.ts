export {
  type AccessOptions,
  accessChannel,
  accessConversation,
  conversationRowId,
  findChannel,
  mayRead,
  requireAccess,
  wireChannelId,
} from './channels.ts'
export { type AccessedMessage, accessMessage } from './messages.ts'
export { accessFile, accessImage } from './uploads.ts'
