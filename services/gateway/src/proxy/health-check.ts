import { timeoutWhileAwake } from '@parley/service'
import { Client, errors } from 'undici'

export interface HealthCheckTimes {
  /** Between the beginnings of two checks. */
  intervalMs: number
  timeoutMs: number
}

const usualTimes: HealthCheckTimes = { intervalMs: 1_000, timeoutMs: 2_000 }
/** After this number of consecutive checks without an answer a replica counts as silent. */
const missesForSilence = 2

interface HealthCheckOptions {
  origin: string
  /** The name that its certificate must have, when the origin is only an address. */
  host?: string | undefined
  /** Called when the replica stops answering checks, and when it answers again. Meanwhile other replicas should be preferred. */
  onChange(isAnswering: boolean): void
  /** Called when the replica accepts connections but has not answered for a while. Its open requests may never be answered. */
  onSilence(): void
  times?: HealthCheckTimes | undefined
}

export interface HealthCheck {
  stop(): Promise<void>
}

/**
 * Asks a replica for `/health/live` every second, on a connection of its own. A replica that hangs (frozen, cut off,
 * out of memory) still accepts connections and requests, and can be recognised only by missing answers. A replica that
 * refuses connections has ended or is about to end. Its open requests end by themselves.
 */
export function startHealthCheck({
  origin,
  host,
  onChange,
  onSilence,
  times: { intervalMs, timeoutMs } = usualTimes,
}: HealthCheckOptions): HealthCheck {
  const client = new Client(origin, {
    connect: { timeout: timeoutMs, ...(host !== undefined && { servername: host }) },
    pipelining: 1,
  })
  const stopping = new AbortController()
  let isAnswering = true
  let misses = 0
  let running: Promise<void> | undefined

  async function check() {
    const result = await askWhetherAlive(client, timeoutMs, stopping.signal)
    if (stopping.signal.aborted) return
    if (isAnswering !== (result === 'answer')) {
      isAnswering = !isAnswering
      onChange(isAnswering)
    }
    misses = result === 'silence' ? misses + 1 : 0
    if (misses >= missesForSilence) onSilence()
  }

  const timer = setInterval(() => {
    running ??= check().finally(() => {
      running = undefined
    })
  }, intervalMs)
  timer.unref()

  return {
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await running
      await client.destroy()
    },
  }
}

/** Any response counts as an answer. */
async function askWhetherAlive(
  client: Client,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<'answer' | 'refused' | 'silence'> {
  const late = timeoutWhileAwake(timeoutMs)
  try {
    const { body } = await client.request({
      path: '/health/live',
      method: 'GET',
      signal: AbortSignal.any([late, stop]),
    })
    await body.dump()
    return 'answer'
  } catch (error) {
    return late.aborted || error instanceof errors.ConnectTimeoutError ? 'silence' : 'refused'
  }
}
