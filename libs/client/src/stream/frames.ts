/** One event of a stream of server-sent events. */
export interface SentEvent {
  data: string
  id: string | undefined
}

interface FrameHandlers {
  onEvent: (event: SentEvent) => void
  /** Milliseconds to wait before the next connection. */
  onRetry: (milliseconds: number) => void
}

/**
 * Parses server-sent events from text that comes in pieces: https://html.spec.whatwg.org/multipage/server-sent-events.html. It supports
 * only what a Parley server sends: lines end with LF or CRLF, and the type of an event is in its data. A complete parser would be about
 * 1.4 KB (gzip) larger, which is a tenth of this library.
 */
export function createFrameReader({ onEvent, onRetry }: FrameHandlers): { feed(text: string): void } {
  let rest = ''
  let data: string[] = []
  let id: string | undefined

  function readLine(line: string) {
    if (line === '') {
      if (data.length > 0) onEvent({ data: data.join('\n'), id })
      data = []
      id = undefined
      return
    }
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'id') id = value
    else if (field === 'retry' && /^\d+$/.test(value)) onRetry(Number(value))
  }

  return {
    feed(text) {
      // The search for the end of the line starts after `rest`, which was searched before.
      const unread = rest + text
      let from = 0
      for (let end = unread.indexOf('\n', rest.length); end >= 0; end = unread.indexOf('\n', from)) {
        readLine(unread.slice(from, unread[end - 1] === '\r' ? end - 1 : end))
        from = end + 1
      }
      rest = unread.slice(from)
    },
  }
}
