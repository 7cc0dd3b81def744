import { on } from 'node:events'
import type { Readable } from 'node:stream'
import { invalid, limits, tooLarge, unavailable } from '@parley/contract'
import { decodeBase64, isForm, parseForm, refuseNul, UnreadableBody } from '@parley/service'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Reservation, UploadMemory } from './upload-memory.ts'

/** The limit of the JSON beside the files. */
const restLimit = 64 * 1024
/** The limit of values in the JSON. 40 MB could contain millions of them, and they take many times their text in memory. */
const maxValues = 5_000

/**
 * Sets the body parsers of the upload routes of this app. A body is read when `memory` has room for it; until then its
 * client waits. The response releases the memory. With `base64Fields` the body is JSON in which these fields may be long.
 * Without them, `request.body` is the sent bytes, and a declared length above `maxBytes` is refused.
 */
export function readUploadBodies(
  app: FastifyInstance,
  memory: UploadMemory,
  base64Fields?: readonly string[],
  maxBytes: number = limits.file,
): void {
  const reservations = new WeakMap<FastifyRequest, Reservation>()

  async function read(request: FastifyRequest, payload: Readable): Promise<Buffer> {
    const declared = request.headers['content-length']
    const length = declared === undefined ? limits.uploadBody : Number(declared)
    if (length > limits.uploadBody) throw tooLarge()
    // For a moment, a JSON body is in memory twice: as bytes and as text.
    const reservation = await memory.reserve(request.claims.userId, base64Fields ? 2 * length : length)
    reservations.set(request, reservation)
    return readInto(Buffer.allocUnsafeSlow(length), payload, reservation)
  }

  app.removeAllContentTypeParsers()
  if (base64Fields) {
    app.addContentTypeParser(json, async (request: FastifyRequest, payload: Readable) =>
      parseJson(await read(request, payload), base64Fields),
    )
    app.addContentTypeParser('*', async (_request: FastifyRequest, payload: Readable) => {
      if ((await discard(payload)) === 0) return {}
      throw new UnreadableBody('wrong type')
    })
  } else {
    app.addContentTypeParser('*', async (request: FastifyRequest, payload: Readable) => {
      const declared = Number(request.headers['content-length'] ?? 0)
      if (declared > limits.uploadBody) throw tooLarge()
      if (declared <= maxBytes) return read(request, payload)
      if ((await discard(payload)) > 0) throw tooLong('file', limits.file)
    })
  }
  app.addHook('onSend', async (request) => reservations.get(request)?.release())
}

const json = /^application\/(?:[\w.-]+\+)?json(?:;|$)/i

/** The error 400 for a file that is larger than allowed. */
export const tooLong = (field: string, bytes: number) =>
  invalid(`The ${field} is larger than ${bytes / 1024 / 1024} MB`)

/**
 * Reads a body into a buffer. @throws ApiError 413 when the body is longer than the buffer, 503 when its reservation is
 * withdrawn meanwhile.
 */
async function readInto(buffer: Buffer, payload: Readable, reservation: Reservation): Promise<Buffer> {
  const { withdrawn } = reservation
  // The client disconnected while it waited for memory. The stream emits no further events.
  if (payload.destroyed) throw brokenOff()
  let length = 0
  try {
    // This reads by events, because an iterator of the stream would notice the withdrawal only at the next chunk.
    for await (const [chunk] of on(payload, 'data', { signal: withdrawn, close: ['end', 'close'] })) {
      if (length + chunk.length > buffer.length) throw tooLarge()
      length += chunk.copy(buffer, length)
      reservation.received(length)
    }
  } catch (error) {
    if (withdrawn.aborted) throw unavailable('The file came too slowly while others waited. Please try again', 5)
    throw payload.errored ? brokenOff() : error
  }
  if (!payload.readableEnded) throw brokenOff()
  reservation.complete()
  return buffer.subarray(0, length)
}

/**
 * Reads a body that is refused, so that its client can read the error. Returns the length of the body. @throws ApiError
 * 413 when it is too long.
 */
async function discard(payload: Readable): Promise<number> {
  let length = 0
  try {
    // Destroying the stream would also end the connection, and with it the client's next request.
    for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
      length += chunk.length
      if (length > limits.uploadBody) throw tooLarge()
    }
  } catch (error) {
    throw payload.errored ? brokenOff() : error
  }
  return length
}

const brokenOff = () => invalid('The body ended too early')

/** Parses a body. @throws ApiError 400 when it is not JSON, or has more than 64 KB beside its long fields. */
function parseJson(body: Buffer, longFields: readonly string[]): unknown {
  if (hasTooManyValues(body)) throw restTooLong()
  const value = parse(body.toString())
  refuseNul(value)
  if (lengthOfRest(value, longFields) > restLimit) throw restTooLong()
  return value
}

/**
 * The length of all texts and names in a body, except its long fields. It uses no recursion, because a body can be
 * nested deeper than the call stack.
 */
function lengthOfRest(body: unknown, longFields: readonly string[]): number {
  let length = 0
  const waiting = [body]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next === 'string') length += next.length
    if (typeof next !== 'object' || next === null) continue
    for (const [name, inner] of Object.entries(next)) {
      if (longFields.includes(name)) continue
      length += name.length
      waiting.push(inner)
    }
  }
  return length
}

/** Values are separated by these characters, and base64 has none of them. */
const hasTooManyValues = (body: Buffer) =>
  [',', '[', '{'].some((separator) => {
    let count = 0
    for (let at = body.indexOf(separator); at !== -1 && count <= maxValues; at = body.indexOf(separator, at + 1))
      count++
    return count > maxValues
  })

function parse(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new UnreadableBody('not JSON')
  }
}

const restTooLong = () => invalid('The fields beside the file are too long')

/**
 * Decodes a field of a body and deletes the field, so that the memory of its text is free while the bytes are stored.
 * @throws ApiError 400 when the text is not base64.
 */
export function takeBase64<F extends string>(body: { [field in F]?: string }, field: F): Buffer {
  const text = body[field] ?? ''
  delete body[field]
  return decodeBase64(field, text)
}

/** Programs send a form with one file. */
const maxFormParts = 20

/**
 * The file in a form (multipart/form-data). A body of another type is the file itself. @throws ApiError 400 for a form
 * without a file.
 */
export async function takeFileOfForm(body: Buffer, contentType: string): Promise<Buffer> {
  if (!isForm(contentType)) return body
  const form = await parseForm(body, contentType, maxFormParts)
  for (const value of form.values()) if (value instanceof File) return Buffer.from(await value.arrayBuffer())
  throw invalid('The form must have a file')
}
