import type { IncomingMessage } from 'node:http'
import { ApiError, tooLarge } from '@parley/contract'
import { ClientLeft, dropRest } from '@parley/service'

/** An upload up to this size is read whole. */
const smallBytes = 256 * 1024

/** As undici takes it: bytes, or an iterable that it starts to read once it is connected. */
export type ProxiedBody = Buffer | AsyncIterable<Buffer> | null

/**
 * The body of a request, never parsed. It is read whole before it takes a connection to a service, so slow clients hold none, and it can
 * be sent to another replica. Only uploads pass through as they come, unless they are small.
 * @throws ApiError 413 when it is longer than `limit` bytes; ClientLeft.
 */
export async function proxiedBody(
  request: IncomingMessage,
  { limit, isUpload }: { limit: number; isUpload: boolean },
): Promise<ProxiedBody> {
  const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers
  if (declared === undefined && encoding === undefined) return null
  const length = declared === undefined ? undefined : Number(declared)
  if (length === 0) return null
  if (length !== undefined && length > limit) throw tooLarge()
  const isSmall = length !== undefined && length <= smallBytes
  return isUpload && !isSmall ? readLater(request, limit) : readWhole(request, limit)
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
    request.on('data', take)
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    for (const event of ['error', 'close']) request.once(event, () => reject(new ClientLeft()))
  })
}

async function* readLater(request: IncomingMessage, limit: number): AsyncGenerator<Buffer> {
  let length = 0
  try {
    // The reply still has to go out when a service does not want all of the body.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > limit) throw tooLarge()
      yield chunk
    }
  } catch (error) {
    throw request.complete || error instanceof ApiError ? error : new ClientLeft()
  } finally {
    // Left where it is, it would stand in the way of the connection's next request.
    dropRest(request)
  }
}
