import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Gauge } from './instruments.ts'
import { metric } from './names.ts'

const resolutionMs = 10
const nanoseconds = 1e-9

/** Observes the event loop's delay, afresh from scrape to scrape, and the memory of this process. Answers how to stop. */
export function observeProcess(gauge: Gauge): () => void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs })
  delay.enable()

  const endDelay = gauge(metric.eventLoopDelay, () => {
    const { p50, p90, p99, max } = delay.count > 0 ? snapshotOf(delay) : nothingSeen
    delay.reset()
    return Object.entries({ p50, p90, p99, max }).map(([statistic, value]) => ({ value, labels: { statistic } }))
  })
  const endMemory = gauge(metric.residentMemory, () => process.memoryUsage.rss())

  return () => {
    endDelay()
    endMemory()
    delay.disable()
  }
}

const nothingSeen = { p50: 0, p90: 0, p99: 0, max: 0 }

// The histogram holds the time between two ticks of its timer; what is beyond the timer's own interval is delay.
function snapshotOf(delay: ReturnType<typeof monitorEventLoopDelay>) {
  const seconds = (value: number) => Math.max(0, value * nanoseconds - resolutionMs / 1_000)
  return {
    p50: seconds(delay.percentile(50)),
    p90: seconds(delay.percentile(90)),
    p99: seconds(delay.percentile(99)),
    max: seconds(delay.max),
  }
}
