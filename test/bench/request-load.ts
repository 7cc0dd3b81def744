import { HttpConnection } from './http-connection.ts'
import { type Sample, sampleOf } from './statistics.ts'

interface RequestLoad {
  port: number
  /** Requests under way at any moment, each on a connection of its own. */
  inFlight: number
  seconds: number
  nextRequest: () => Buffer
}

/** Sends requests for some seconds, each as soon as an earlier one is answered. @throws when an answer is not 200. */
export async function measureRequests({ port, inFlight, seconds, nextRequest }: RequestLoad): Promise<Sample> {
  const connections = await Promise.all(Array.from({ length: inFlight }, () => HttpConnection.open(port)))
  const latenciesMs: number[] = []
  const begun = performance.now()
  const end = begun + seconds * 1000
  try {
    await Promise.all(
      connections.map(async (connection) => {
        for (let sentAt = performance.now(); sentAt < end; ) {
          const { status, body } = await connection.send(nextRequest())
          if (status !== 200) throw new Error(`answered ${status}: ${body}`)
          const now = performance.now()
          if (now <= end) latenciesMs.push(now - sentAt)
          sentAt = now
        }
      }),
    )
  } finally {
    for (const connection of connections) connection.close()
  }
  return sampleOf(latenciesMs.length, seconds, latenciesMs)
}
