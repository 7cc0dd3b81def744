import type { Machine } from './machine.ts'
import { type Rounds, type Sample, type Spread, spreadOf } from './statistics.ts'

/** One row of the table. */
export interface Row {
  part: string
  work: string
  ours: string
  against: string
  theirs: string
  ratio: string
  goal: string
  /** Undefined when the row could not be measured. */
  met: boolean | undefined
  /** Every figure of every round, for `--json`. */
  figures?: unknown
  /** Further tables, in Markdown, shown below the rows. */
  details?: string
}

interface RateRow {
  part: string
  work: string
  /** What is counted, for example "sends/s". */
  unit: string
  against: string
  rounds: Rounds
  /** The goal: our figure divided by theirs is at least this. */
  atLeast: number
}

/** A row that compares two rates. Its ratio is the median of the ratios of the rounds. */
export function rateRow({ part, work, unit, against, rounds, atLeast }: RateRow): Row {
  const ratio = spreadOf(rounds.ours.map((ours, round) => ours.perSecond / rounds.theirs[round]!.perSecond))
  return {
    part,
    work,
    ours: rateOf(rounds.ours, unit),
    against,
    theirs: rateOf(rounds.theirs, unit),
    ratio: `${factor(ratio.median)} (${factor(ratio.low)}–${factor(ratio.high)})`,
    goal: `≥ ${atLeast.toFixed(atLeast % 0.1 < 0.01 || atLeast >= 1 ? 1 : 2)}×`,
    met: ratio.median >= atLeast,
    figures: { ratio, ...rounds },
  }
}

/** A row that could not be measured. */
export const skippedRow = (part: string, work: string, against: string, goal: string, reason: string): Row => ({
  part,
  work,
  ours: '–',
  against,
  theirs: `skipped: ${reason}`,
  ratio: '–',
  goal,
  met: undefined,
})

export const spreadText = ({ median, low, high }: Spread, unit: string, digits = 0) =>
  `${number(median, digits)} ${unit} (${number(low, digits)}–${number(high, digits)})`

export const rateOf = (samples: readonly Sample[], unit: string) =>
  `${spreadText(spreadOf(samples.map(({ perSecond }) => perSecond)), unit)}, p99 ${p99Of(samples)}`

export const p99Of = (samples: readonly Sample[]) => {
  const { median } = spreadOf(samples.map(({ p99Ms }) => p99Ms))
  return `${number(median, median < 10 ? 1 : 0)} ms`
}

/** A number with commas between the thousands. */
export const grouped = (value: number) => value.toLocaleString('en')
/** Bytes in whole MiB (written as "MB" in the rows). */
export const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`

const factor = (value: number) => `${value.toFixed(2)}×`
const number = (value: number, digits: number) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

export function renderReport(machine: Machine, notes: readonly string[], rows: readonly Row[]): string {
  const verdict = ({ met }: Row) => (met === undefined ? '–' : met ? 'met' : '**missed**')
  return [
    `# Parley bench, ${machine.date}`,
    '',
    ...Object.entries(machine.facts).map(([name, value]) => `- ${name}: ${value}`),
    ...notes.map((note) => `- ${note}`),
    '',
    '| Work | Parley | Measured against | Its figure | Ratio | Goal | |',
    '|---|---|---|---|---|---|---|',
    ...rows.map((row) => {
      const cells = [row.work, row.ours, row.against, row.theirs, row.ratio, row.goal, verdict(row)]
      return `| ${cells.join(' | ')} |`
    }),
    '',
    ...rows.flatMap(({ details }) => (details === undefined ? [] : [details, ''])),
  ].join('\n')
}
