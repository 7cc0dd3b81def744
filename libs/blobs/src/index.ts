import type { Config } from '@parley/config'
import type { Database } from '@parley/database'
import { createPostgresStore } from './postgres-store.ts'
import type { BlobStore } from './store.ts'

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

interface BlobOptions {
  storage: Config['storage']
  /** Used by the store `postgresql` alone. */
  db: Database
}

/** Opens the configured store. Nothing is connected until it is first used. */
export const openBlobs = ({ storage, db }: BlobOptions): BlobStore =>
  storage.store === 's3' ? openS3Store(storage.s3) : createPostgresStore(db)

/** The SDK of S3 is large, so only processes that use it load it. */
function openS3Store(settings: Config['storage']['s3']): BlobStore {
  const opening = import('./s3-store.ts').then(({ createS3Store }) => createS3Store(settings))
  return {
    put: async (...request) => (await opening).put(...request),
    get: async (...request) => (await opening).get(...request),
    delete: async (keys) => (await opening).delete(keys),
    check: async () => (await opening).check(),
    sweep: async (olderThanMs) => (await opening).sweep(olderThanMs),
    close: async () => (await opening).close(),
  }
}
