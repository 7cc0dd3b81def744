import type { Readable } from 'node:stream'
import { invalid, limits, tooLarge, unavailable } from '@parley/contract'
import { refuseNul } from '@parley/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { decodeInPlace } from './base64.ts'
import type { Share, UploadMemory } from './memory.ts'
import { parseUploadJson, type UploadJson } from './upload.json.ts'

/** Above what 25 MB take as base64, so that whoever sends a little more is told so. */
const bodyLimit = 40 * 1024 * 1024

/** A body that is being handled, and the memory it holds. */
interface Held {
  bytes: Buffer
  json: UploadJson | undefined
  release(): void
}

export interface UploadBodies {
  /** The bytes of a field that was sent as base64; call it once for each. @throws ApiError 400 when it is none. */
  bytesOf(request: FastifyRequest, field: string, text: string): Buffer
  /** The bytes of a body that was sent as it is. */
  wholeOf(request: FastifyRequest): Buffer
  /** Runs what needs the bytes, and gives their memory back. */
  use<T>(request: FastifyRequest, work: () => Promise<T>): Promise<T>
}

/**
 * How this app's upload routes read bodies: none is read before there is memory for it, so however many come at once, no
 * more is held than `memory` has. Clients that wait send nothing meanwhile.
 */
export function readUploads(
  app: FastifyInstance,
  memory: UploadMemory,
  as: { base64: readonly string[] } | 'bytes',
): UploadBodies {
  const bodies = new WeakMap<FastifyRequest, Held>()

  async function read(request: FastifyRequest, payload: Readable): Promise<Held> {
    const declared = request.headers['content-length']
    const length = declared === undefined ? bodyLimit : Number(declared)
    if (length > bodyLimit) throw tooLarge()
    const share = await memory.take(request.claims.userId, length)
    try {
      const bytes = await readInto(Buffer.allocUnsafeSlow(length), payload, share)
      return { bytes, json: undefined, release: share.release }
    } catch (error) {
      share.release()
      throw error
    }
  }

  function hold(request: FastifyRequest, held: Held) {
    bodies.set(request, held)
  }

  app.removeAllContentTypeParsers()
  if (as === 'bytes') {
    app.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
      const declared = Number(request.headers['content-length'] ?? 0)
      if (declared > bodyLimit) throw tooLarge()
      if (declared <= limits.file) hold(request, await read(request, payload))
      else if ((await drain(payload)) > 0) throw tooLong('file', limits.file)
      return {}
    })
  } else {
    app.addContentTypeParser(json, async (request: FastifyRequest, payload: Readable) => {
      const held = await read(request, payload)
      hold(request, held)
      held.json = parseUploadJson(held.bytes, as.base64)
      refuseNul(held.json.value)
      return held.json.value
    })
    app.addContentTypeParser('*', async (_request: FastifyRequest, payload: Readable) => {
      if ((await drain(payload)) === 0) return {}
      throw invalid('Please send the body as JSON, with the header Content-Type: application/json')
    })
  }
  // What is refused between the reading and the handler never gets to `use`.
  app.addHook('onError', async (request) => bodies.get(request)?.release())

  return {
    bytesOf(request, field, text) {
      const { bytes, json } = bodies.get(request)!
      const place = json?.place(text)
      if (place) return decodeInPlace(bytes, field, place)
      const short = Buffer.from(text)
      return decodeInPlace(short, field, { start: 0, end: short.length })
    },
    wholeOf: (request) => bodies.get(request)?.bytes ?? Buffer.alloc(0),
    async use(request, work) {
      try {
        return await work()
      } finally {
        bodies.get(request)?.release()
        bodies.delete(request)
      }
    },
  }
}

const json = /^application\/(?:[\w.-]+\+)?json(?:;|$)/i

/** 400: decoded it is longer than it may be. */
export const tooLong = (field: string, bytes: number) =>
  invalid(`The ${field} is larger than ${bytes / 1024 / 1024} MB`)

/** By its events, because a loop over it waits for the next piece whatever happens meanwhile. */
function readInto(buffer: Buffer, payload: Readable, share: Share): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Its sender left while it waited for memory.
    if (payload.destroyed) return reject(brokenOff())
    let length = 0
    const take = (chunk: Buffer) => {
      if (length + chunk.length > buffer.length) return refuse(tooLarge())
      length += chunk.copy(buffer, length)
      share.came(length)
    }
    const end = () => {
      leave()
      share.whole()
      resolve(buffer.subarray(0, length))
    }
    const breakOff = () => refuse(brokenOff())
    const giveUp = () => refuse(unavailable('The file came too slowly while others waited. Please try again', 5))
    const refuse = (error: Error) => {
      leave()
      reject(error)
    }
    const leave = () => {
      payload.off('data', take).off('end', end).off('close', breakOff)
      share.late.removeEventListener('abort', giveUp)
    }
    payload.on('error', breakOff).on('close', breakOff).on('end', end).on('data', take)
    share.late.addEventListener('abort', giveUp)
  })
}

/** Who is refused should hear why: a connection that ends while they still send tells nothing. Answers how much it was. */
async function drain(payload: Readable): Promise<number> {
  let length = 0
  for await (const chunk of whole(payload)) {
    length += chunk.length
    if (length > bodyLimit) throw tooLarge()
  }
  return length
}

const brokenOff = () => invalid('The body ended too early')

/** A client that leaves is no fault of ours. */
async function* whole(payload: Readable): AsyncGenerator<Buffer> {
  try {
    // A stream that is destroyed takes no more of the body, and the connection's next request would never be read.
    yield* payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  } catch {
    throw brokenOff()
  }
}
