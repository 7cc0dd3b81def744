import type { PositionedEvent } from '@parley/events'
import type { Judged } from './entitlement.ts'

/** An event on its way to the live streams. */
export interface Delivery {
  event: PositionedEvent
  audience: Judged
  /** Streams it was written to. */
  streams: number
}
