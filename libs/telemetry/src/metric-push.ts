import type { Resource } from '@opentelemetry/resources'
import type { MetricReader } from '@opentelemetry/sdk-metrics'

export interface MetricPush {
  reader: MetricReader
  resource: Resource
}

let prepared: MetricPush | undefined

/** Makes `createMetrics` push the metrics as well. Called by the preload, which must not load the rest of the SDK. */
export function prepareMetricPush(push: MetricPush): void {
  prepared = push
}

/** Returns the reader only once, since a reader belongs to one provider. */
export function takeMetricPush(): MetricPush | undefined {
  const taken = prepared
  prepared = undefined
  return taken
}
