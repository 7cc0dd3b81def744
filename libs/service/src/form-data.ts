import { invalid } from '@parley/contract'

/** Whether a body with this type is a form with parts (multipart/form-data). */
export const isForm = (contentType: string): boolean => /^multipart\/form-data\b/i.test(contentType)

/** Each header of a part takes time to read. */
const maxPartHeaderBytes = 8 * 1024

/** The characters of a boundary (RFC 2046, section 5.1.1). */
const boundaryCharacters = /^[\w'()+,./:=? -]{1,70}$/

/**
 * Parses a form (multipart/form-data). Each part takes time to read, so a form with more than `maxParts` is refused before it is parsed.
 * The end of the form counts too.
 * @throws ApiError 400 when the form cannot be read, or has too many parts or too long headers.
 */
export async function parseForm(body: Buffer, contentType: string, maxParts: number): Promise<FormData> {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]*))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain ?? ''
  if (!boundaryCharacters.test(boundary)) throw unreadable()
  refuseLargeForm(body, boundary, maxParts)
  // The header is written anew, because the parser might find another boundary in the header of the request.
  const headers = { 'content-type': `multipart/form-data; boundary="${boundary}"` }
  return new Response(new Uint8Array(body), { headers }).formData().catch(() => {
    throw unreadable()
  })
}

/** @throws ApiError 400 when the form has too many parts, or a part has too long headers. */
function refuseLargeForm(body: Buffer, boundary: string, maxParts: number) {
  let parts = 0
  for (let at = body.indexOf(boundary); at !== -1; at = body.indexOf(boundary, at + 1)) {
    if (++parts > maxParts) throw invalid('The form has too many parts')
    const headers = body.subarray(at + boundary.length, at + boundary.length + maxPartHeaderBytes)
    const isWhole = headers.length < maxPartHeaderBytes || headers.includes('\r\n\r\n')
    if (isDelimiter(body, at, boundary) && !isWhole) throw invalid('The headers of a part of the form are too long')
  }
}

/** Whether the boundary at this position begins a part. Otherwise it ends the form, or it is in a file. */
const isDelimiter = (body: Buffer, at: number, boundary: string) =>
  body.toString('latin1', at - 2, at) === '--' &&
  body.toString('latin1', at + boundary.length, at + boundary.length + 2) === '\r\n'

const unreadable = () => invalid('The form cannot be read')
