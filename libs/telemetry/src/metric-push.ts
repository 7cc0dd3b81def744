import type { Resource } from '@opentelemetry/resources'
import type { MetricReader } from '@opentelemetry/sdk-metrics'

export interface MetricPush {
  reader: MetricReader
  resource: Resource
}

let prepared: MetricPush | undefined

/** Has the metrics of this process pushed too, once they are created. Called by the preload, which runs before anything else. */
export function prepareMetricPush(push: MetricPush): void {
  prepared = push
}

/** Answers it once: a reader belongs to one provider. */
export function takeMetricPush(): MetricPush | undefined {
  const taken = prepared
  prepared = undefined
  return taken
}
