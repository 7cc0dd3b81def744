/** Apps: bots that answer commands and buttons. */
import type { Moment } from './columns.ts'

/** The additional data of a bot that is an app. */
export interface Apps {
  botId: string
  /** The secret that signs requests to the app. Encrypted by `Seals`. */
  sealedSigningSecret: string
  /** The address that gets clicks on the buttons of its messages. */
  interactivityUrl: string | null
  createdAt: Moment
  updatedAt: Moment
}

export interface Commands {
  id: string
  botId: string
  /** Without the slash. */
  name: string
  url: string
  description: string
  usageHint: string
  createdBy: string
  createdAt: Moment
  updatedAt: Moment | null
  deletedAt: Moment | null
}

/** An address (`response_url`) at which an app may answer later. */
export interface AppResponses {
  id: string
  secretHash: Buffer
  botId: string
  /** Who used the command or the button. */
  userId: string
  channelId: string
  /** Of a button: the message that it is on. */
  messageId: string | null
  usesLeft: number
  expiresAt: Moment
}
