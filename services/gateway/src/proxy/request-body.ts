import type { IncomingMessage } from 'node:http'
import { ApiError, tooLarge } from '@parley/contract'
import { ClientLeft, dropRest } from '@parley/service'

/** Uploads of at most this size are read whole. */
const smallBytes = 256 * 1024

/** A body in the form that undici accepts: bytes, or an iterable that it reads once it is connected. */
export type RequestBody = Buffer | AsyncIterable<Buffer> | null

/**
 * Reads the body of a request without parsing it. The body is read whole before the request uses a connection to a
 * service. So a slow client holds no connection, and the body can also be sent to another replica. Only uploads of more
 * than 256 KB are streamed.
 * @throws ApiError 413 when it is longer than `limit` bytes; ClientLeft.
 */
export async function readRequestBody(
  request: IncomingMessage,
  { limit, isUpload }: { limit: number; isUpload: boolean },
): Promise<RequestBody> {
  const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers
  if (declared === undefined && encoding === undefined) return null
  const length = declared === undefined ? undefined : Number(declared)
  if (length === 0) return null
  if (length !== undefined && length > limit) throw tooLarge()
  const isSmall = length !== undefined && length <= smallBytes
  return isUpload && !isSmall ? streamBody(request, limit) : readWhole(request, limit)
}

function readWhole(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) return reject(new ClientLeft())
    const chunks: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length <= limit) return chunks.push(chunk)
      request.off('data', take)
      reject(tooLarge())
    }
    let hasEnded = false
    // Every request emits close. The error is created only if the client left, because creating one for each request
    // would cost more than reading the body.
    const leave = () => {
      if (!hasEnded) reject(new ClientLeft())
    }
    request.on('data', take)
    request.once('end', () => {
      hasEnded = true
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
    })
    for (const event of ['error', 'close']) request.once(event, leave)
  })
}

async function* streamBody(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let length = 0
  try {
    // When a service refuses the rest of the body, its response must still reach the client.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > limit) throw tooLarge()
      yield chunk
    }
  } catch (error) {
    throw request.complete || error instanceof ApiError ? error : new ClientLeft()
  } finally {
    // The connection can read its next request only after the rest of this body.
    dropRest(request)
  }
}
