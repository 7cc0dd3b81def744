import type { Config } from '@parley/config'
import type { Database } from '@parley/database'
import { createPostgresStore } from './postgres-store.ts'
import { createS3Store } from './s3-store.ts'
import type { BlobStore } from './store.ts'

export { createLimiter } from './limiter.ts'
export { BlobMissing, type BlobStore, type ByteRange, exportPartKey } from './store.ts'
export {
  type AvatarSide,
  avatarKey,
  avatarKeys,
  avatarSides,
  deleteAvatars,
  releaseUploads,
  thumbnailKey,
} from './uploads.ts'

export interface BlobOptions {
  storage: Config['storage']
  /** Used by the store `postgresql` alone. */
  db: Database
}

/** Opens the configured store. Nothing is connected until it is first used. */
export const openBlobs = ({ storage, db }: BlobOptions): BlobStore =>
  storage.store === 's3' ? createS3Store(storage.s3) : createPostgresStore(db)
