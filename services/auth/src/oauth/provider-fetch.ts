import { isLoopbackHost } from '@parley/config'

/** The longest answer of a provider. */
const maxAnswerBytes = 262_144

/** An answer of a provider that cannot be used. The message quotes nothing of the answer. */
export class UnusableResponse extends Error {
  override readonly name = 'UnusableResponse'
}

type ProviderFetch = (url: string, init?: RequestInit) => Promise<Response>

/**
 * `fetch` for requests to a provider: it follows no redirects, reads answers of limited length, and calls only https addresses. Only a
 * provider that is itself on a loopback host may name loopback addresses, so that other providers cannot reach services of this machine.
 */
export function createProviderFetch(issuer: string): ProviderFetch {
  const isLocal = isLoopbackHost(new URL(issuer).hostname)
  return async (url, init = {}) => {
    const { protocol, hostname } = new URL(url)
    if (protocol !== 'https:' && !(isLocal && isLoopbackHost(hostname))) {
      throw new UnusableResponse(`${new URL(url).origin} is not https`)
    }
    const headers = new Headers(init.headers)
    headers.set('user-agent', 'parley')
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    const body = await readBounded(response)
    if (response.status >= 300 && response.status < 400) {
      throw new UnusableResponse(`${new URL(url).origin} answered with a redirect`)
    }
    return new Response(body.length > 0 ? body : null, { status: response.status, headers: response.headers })
  }
}

/** The body of an answer. @throws UnusableResponse when it is too long. */
export async function readBounded({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const part of body ?? []) {
    size += part.length
    if (size > maxAnswerBytes) throw new UnusableResponse('the answer is too long')
    parts.push(part)
  }
  return Buffer.concat(parts)
}
