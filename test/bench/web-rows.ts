import type { Row } from './report.ts'
import { percentile } from './statistics.ts'
import { slowdown } from './web-pages.ts'

type Judged = Pick<Row, 'work' | 'ours' | 'goal' | 'met'> & Partial<Row>

/** A row of the web client's part. */
export const webRow = (judged: Judged): Row => ({
  part: 'web',
  against: '–',
  theirs: '–',
  ratio: '–',
  ...judged,
  work: `web client: ${judged.work}, processor ${slowdown}× slower`,
})

export const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`
export const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b)
export const p95 = (values: readonly number[]) => percentile(sorted(values), 0.95)
export const p99 = (values: readonly number[]) => percentile(sorted(values), 0.99)
export const times = (ours: number, theirs: number) => `${(ours / theirs).toFixed(1)}×`
