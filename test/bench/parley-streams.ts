import type { Signed } from './people.ts'
import { type Audience, StreamAudience } from './stream-audience.ts'

/** Opens event streams, for each of these people in turn. When it resolves, each stream has sent CONNECTED. */
export const openParleyStreams = (
  port: number,
  people: readonly Signed[],
  count: number,
  path = '/events',
  witnesses?: number,
): Promise<StreamAudience> => {
  const audience: Audience = {
    port,
    count,
    witnesses,
    openedBy: '"CONNECTED"',
    request: (index) => getOf(path, { authorization: `Bearer ${people[index % people.length]!.token}` }),
  }
  return StreamAudience.open(audience)
}

export function getOf(path: string, headers: Record<string, string> = {}): Buffer {
  const all = { host: '127.0.0.1', accept: 'text/event-stream', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}
