import type { ResponseOf } from '@parley/client'
import { client } from './session.ts'

let requested: Promise<ResponseOf<'GET /config.json'>> | undefined

/** Requests what the server offers for a sign-in, while the sign-in is still being loaded. `takeSignInOptions` handles a failure. */
export function requestSignInOptions() {
  requested = client.request('GET /config.json')
  requested.catch(() => {})
}

/** What the server offers for a sign-in. Each call makes a request, unless one was made before for this call. */
export function takeSignInOptions() {
  const options = requested ?? client.request('GET /config.json')
  requested = undefined
  return options
}
