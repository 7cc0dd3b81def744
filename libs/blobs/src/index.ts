export { type BlobOptions, openBlobs } from './open.ts'
export { BlobMissing, type BlobStore, type ByteRange } from './store.ts'
export { releaseUploads, thumbnailKey } from './uploads.ts'
