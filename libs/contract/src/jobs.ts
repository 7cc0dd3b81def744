import { type Static, Type } from 'typebox'

/** All jobs of the worker: queue name to the data of the job. A job is recorded in the transaction that causes it. */
export const jobData = {
  'send-mail': Type.Object({
    to: Type.String(),
    subject: Type.String(),
    text: Type.String(),
    html: Type.Optional(Type.String()),
  }),
  /** `afterSeq`: up to here an earlier job has purged the channel. */
  'purge-channel': Type.Object({ channelId: Type.String(), afterSeq: Type.Optional(Type.Integer()) }),
  /** For an image that was uploaded without a thumbnail. */
  'make-thumbnail': Type.Object({ filename: Type.String() }),
  /** For a message that may have links, or has lost those that it had. */
  'make-previews': Type.Object({ messageId: Type.String() }),
  /** A picture of a person that waits in `avatars`. */
  'make-avatar': Type.Object({ version: Type.String() }),
  /** Keys of uploads, avatars or parts of exports that no row refers to any more. */
  'delete-blobs': Type.Object({ keys: Type.Array(Type.String()) }),
  'compute-export': Type.Object({ exportId: Type.String() }),
} as const

export type JobName = keyof typeof jobData
export type JobData<N extends JobName> = Static<(typeof jobData)[N]>
