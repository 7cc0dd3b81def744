export {
  type AccessOptions,
  accessChannel,
  accessConversation,
  conversationRowId,
  findChannel,
  requireAccess,
  wireChannelId,
} from './channels.ts'
export { type AccessedMessage, accessMessage } from './messages.ts'
