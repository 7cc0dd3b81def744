import { type Static, Type } from 'typebox'

/** All queues of the worker, by name, with the data of a job. A job is recorded in the transaction that causes it. */
const jobData = {
  /** `userId`: the person to whom it is sent. Absent for somebody without an account. */
  'send-mail': Type.Object({
    to: Type.String(),
    userId: Type.Optional(Type.String()),
    subject: Type.String(),
    text: Type.String(),
    html: Type.Optional(Type.String()),
  }),
  /**
   * Separate from other mails, which must not wait for them. It has no text, because the messages may be changed, deleted or read before the mail is
   * sent. `to`: the address when the job was recorded, for the limits of its domain.
   */
  'send-missed-messages': Type.Object({
    userId: Type.String(),
    to: Type.String(),
    /** The messages that the mail shows, oldest first. */
    messageIds: Type.Array(Type.String()),
    /** The number of further missed messages. */
    more: Type.Integer(),
  }),
  /** `afterSeq`: an earlier job has purged the channel up to this seq. */
  'purge-channel': Type.Object({ channelId: Type.String(), afterSeq: Type.Optional(Type.Integer()) }),
  /** For an image that was uploaded without a thumbnail. */
  'make-thumbnail': Type.Object({ filename: Type.String() }),
  /** For a message that may have links, or whose links were removed. */
  'make-previews': Type.Object({ messageId: Type.String() }),
  /** For a new avatar in `avatars` that is not encoded yet. */
  'make-avatar': Type.Object({ version: Type.String() }),
  /** Keys of uploads, avatars or parts of exports that no row refers to any more. */
  'delete-blobs': Type.Object({ keys: Type.Array(Type.String()) }),
  'compute-export': Type.Object({ exportId: Type.String() }),
} as const

export type JobName = keyof typeof jobData
export type JobData<N extends JobName> = Static<(typeof jobData)[N]>
