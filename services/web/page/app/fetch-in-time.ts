/** The time for a whole response. A network that changes can lose a request without an error, and then it must be sent again. */
const limitMs = 60_000

/** `fetch` with a time limit, apart from the event stream and from files, which may take any time. */
export const fetchInTime: typeof fetch = (input, init = {}) => {
  const isLong = String(input).startsWith('/events') || typeof (init.body ?? '') !== 'string'
  if (isLong) return fetch(input, init)
  const late = new AbortController()
  setTimeout(() => late.abort(), limitMs)
  return fetch(input, { ...init, signal: AbortSignal.any([late.signal, ...(init.signal ? [init.signal] : [])]) })
}
