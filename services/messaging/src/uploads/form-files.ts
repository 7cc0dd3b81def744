import { invalid } from '@parley/contract'

/** Programs send a form with one file. Each part takes time to read, so that many of them are refused before. */
const mostParts = 20

/** The file of a form (multipart/form-data); bytes of any other type are the file. @throws ApiError 400 for a form without a file. */
export async function takeFileOfForm(body: Buffer, contentType: string): Promise<Buffer> {
  if (!/^multipart\/form-data\b/i.test(contentType)) return body
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw noFile()
  let parts = 0
  for (let at = body.indexOf(boundary); at !== -1; at = body.indexOf(boundary, at + 1)) {
    if (++parts > mostParts) throw invalid('The form has too many parts')
  }
  const headers = { 'content-type': contentType }
  const form = await new Response(new Uint8Array(body), { headers }).formData().catch(() => {
    throw noFile()
  })
  for (const value of form.values()) if (value instanceof File) return Buffer.from(await value.arrayBuffer())
  throw noFile()
}

const noFile = () => invalid('The form must have a file')
