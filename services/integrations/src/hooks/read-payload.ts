import { refuseNul, webhookRefusal } from '@parley/service'

/** Some programs write it before JSON. The other routes accept it too. */
const byteOrderMark = /^\ufeff/

/** The payload of a body: JSON, or a form whose field `payload` has the JSON. @throws ProtocolRefusal when it is not a JSON object. */
export function readPayload(body: unknown, contentType: string): Record<string, unknown> {
  const text = typeof body === 'string' ? body : ''
  const isForm = /^application\/x-www-form-urlencoded/i.test(contentType) && !text.trimStart().startsWith('{')
  try {
    const json = (isForm ? new URLSearchParams(text).get('payload') : text) || 'null'
    const payload = JSON.parse(json.replace(byteOrderMark, ''))
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) throw new SyntaxError('no object')
    // JSON can write the character NUL only as this escape sequence.
    if (json.includes('\\u0000')) refuseNul(payload)
    return payload
  } catch {
    throw webhookRefusal(400, 'invalid_payload')
  }
}
