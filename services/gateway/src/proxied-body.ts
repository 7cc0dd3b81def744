import type { IncomingMessage } from 'node:http'
import { tooLarge } from '@parley/contract'
import { dropRest } from '@parley/service'

const smallBytes = 256 * 1024

/** As undici takes it: bytes, or an iterable that it starts to read once it is connected. */
export type ProxiedBody = Buffer | AsyncIterable<Buffer> | null

/**
 * The body of a request, never parsed. A small one is read whole first, so it can be sent to another replica and costs
 * no stream; any other passes through. @throws ApiError 413 when it is longer than `limit` bytes.
 */
export async function proxiedBody(request: IncomingMessage, limit: number): Promise<ProxiedBody> {
  const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers
  if (declared === undefined && encoding === undefined) return null
  const length = declared === undefined ? undefined : Number(declared)
  if (length === 0) return null
  if (length !== undefined && length > limit) throw tooLarge()
  return length !== undefined && length <= smallBytes ? readWhole(request) : readLater(request, limit)
}

function readWhole(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => {
      if (!request.complete) reject(new ClientLeft())
    })
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
  } finally {
    // Left where it is, it would stand in the way of the connection's next request.
    dropRest(request)
  }
}

/** The client closed its connection: there is nobody to answer. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'

  constructor() {
    super('the client closed the connection')
  }
}
