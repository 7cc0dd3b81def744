export {
  type AccessOptions,
  accessChannel,
  accessConversation,
  conversationRowId,
  requireAccess,
  wireChannelId,
} from './channels.ts'
export { type AccessedMessage, accessMessage } from './messages.ts'
