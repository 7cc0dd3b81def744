/** A request that is ready to be sent. */
export interface PreparedRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: string | Blob | undefined
  signal: AbortSignal | undefined
  keepalive: boolean | undefined
}

type OnProgress = (progress: { sentBytes: number; totalBytes: number }) => void

const chunkBytes = 64 * 1024

/**
 * Sends a request and reports how much of its body has been sent. In browsers only `XMLHttpRequest` reports this. Elsewhere the body is a
 * stream, and its chunks are counted when the network reads them.
 */
export function sendWithProgress(request: PreparedRequest, onProgress: OnProgress, fetch: typeof globalThis.fetch) {
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
  return XMLHttpRequest
    ? sendByXhr(new XMLHttpRequest(), request, onProgress)
    : sendAsStream(request, onProgress, fetch)
}

/** The part of `XMLHttpRequest` that this file uses. */
interface Xhr {
  responseType: string
  readonly status: number
  readonly response: unknown
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null }
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  onloadend: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: string | Blob | null): void
  abort(): void
}

function sendByXhr(
  xhr: Xhr,
  { method, url, headers, body, signal }: PreparedRequest,
  onProgress: OnProgress,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    // There is no event `abort` for a request that was not sent.
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => xhr.abort()
    xhr.open(method, url)
    xhr.responseType = 'blob'
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded, total }) => onProgress({ sentBytes: loaded, totalBytes: total })
    xhr.onload = () => {
      const lines = xhr.getAllResponseHeaders().trim().split(/\r\n/)
      const responseHeaders = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string])
      const isEmpty = [204, 205, 304].includes(xhr.status)
      resolve(new Response(isEmpty ? null : (xhr.response as Blob), { status: xhr.status, headers: responseHeaders }))
    }
    xhr.onerror = () => reject(new TypeError('The connection failed'))
    xhr.onabort = () => reject(signal?.reason ?? new DOMException('Aborted', 'AbortError'))
    xhr.onloadend = () => signal?.removeEventListener('abort', abort)
    signal?.addEventListener('abort', abort)
    xhr.send(body ?? null)
  })
}

function sendAsStream(
  { method, url, headers, body = '', signal }: PreparedRequest,
  onProgress: OnProgress,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  const blob = typeof body === 'string' ? new Blob([body]) : body
  let sentBytes = 0
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sentBytes >= blob.size) return controller.close()
      const chunk = new Uint8Array(await blob.slice(sentBytes, sentBytes + chunkBytes).arrayBuffer())
      controller.enqueue(chunk)
      sentBytes += chunk.byteLength
      onProgress({ sentBytes, totalBytes: blob.size })
    },
  })
  const init = { method, headers, body: stream, duplex: 'half', ...(signal && { signal }) }
  return fetch(url, init as RequestInit)
}
