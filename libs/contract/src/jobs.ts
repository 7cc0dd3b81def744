import { type Static, Type } from 'typebox'

/** Everything a worker can be asked to do: queue name to the data of its jobs. Recorded in the transaction of its cause. */
export const jobData = {
  'send-mail': Type.Object({
    to: Type.String(),
    subject: Type.String(),
    text: Type.String(),
    html: Type.Optional(Type.String()),
  }),
  /** `afterSeq`: how far an earlier job has come. */
  'purge-channel': Type.Object({ channelId: Type.String(), afterSeq: Type.Optional(Type.Integer()) }),
  /** For an image that was uploaded without one. */
  'make-thumbnail': Type.Object({ filename: Type.String() }),
  /** Keys that no row names any more, of uploads or parts of exports. */
  'delete-blobs': Type.Object({ keys: Type.Array(Type.String()) }),
  'compute-export': Type.Object({ exportId: Type.String() }),
} as const

export type JobName = keyof typeof jobData
export type JobData<N extends JobName> = Static<(typeof jobData)[N]>
