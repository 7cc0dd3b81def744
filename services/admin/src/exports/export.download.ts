import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { type BlobStore, exportPartKey } from '@parley/blobs'
import type { ExportPart } from './exports.queries.ts'

/** The compressed document, part after part, at the reader's pace. */
export async function* readCompressed(blobs: BlobStore, parts: readonly ExportPart[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield* (await blobs.get(exportPartKey(part))) as AsyncIterable<Buffer>
}

/** The document as JSON. Whichever of reader and store fails first ends the other. */
export const readDocument = (blobs: BlobStore, parts: readonly ExportPart[]): Readable =>
  pipeline(Readable.from(readCompressed(blobs, parts), { objectMode: false }), createGunzip(), () => {})

/** `Content-Disposition` of an export; its name says when it was asked for. */
export const attachmentOf = ({ createdAt }: { createdAt: number }, ending: string) =>
  `attachment; filename="parley-export-${new Date(createdAt).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}${ending}"`
