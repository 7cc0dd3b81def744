import type { Report } from './check.ts'
import type { History, Reading } from './history.ts'

interface LastFault {
  /** The time after the last fault, by the clock of the history. */
  at: number
  /** A channel that everybody may read all the time. */
  place: string
  /** The time that a reader may take from then on. */
  withinMs: number
}

/**
 * Every reader who was connected at the last fault is up to date soon after it: they have the last message that was
 * acknowledged by then, or a later event. Readers who were told to leave are ignored.
 */
export function checkLag(history: History, { at, place, withinMs }: LastFault, report: Report): void {
  const sent = history.operations.findLast(
    ({ act, outcome, completed }) =>
      act.kind === 'send' && act.place === place && !act.parent && outcome === 'ok' && completed <= at,
  )
  if (!sent) return
  const cursor = [...history.events].find(
    ([, { type, payload }]) => type === 'NEW_MESSAGE' && payload.id === sent.told.id,
  )?.[0]
  for (const reading of history.readings) {
    const { name, connections } = reading
    if (isLeaving(history, reading) || !connections[0] || connections[0].opened > sent.invoked) continue
    const arrival = cursor && firstAtOrBehind(reading, cursor)
    const late = arrival ? arrival - at : Infinity
    if (late > withinMs)
      report(
        `${withinMs / 1_000} s after the last fault every reader is up to date`,
        `${name} got operation ${sent.id} ${Math.round(late)} ms after it`,
      )
  }
}

const isLeaving = ({ operations }: History, { user, session }: Reading) =>
  operations.some(
    ({ act }) =>
      (act.kind === 'logout' && act.session === session) ||
      ((act.kind === 'remove' || act.kind === 'deactivate') && act.user === user),
  )

/** Cursors are an epoch and a position; another epoch means that the reader has fetched everything again. */
function firstAtOrBehind({ deliveries }: Reading, wanted: string): number | undefined {
  const [epoch, position] = wanted.split('.')
  return deliveries.find(({ cursor }) => {
    const [itsEpoch, itsPosition] = cursor.split('.')
    return itsEpoch === epoch && Number(itsPosition) >= Number(position)
  })?.at
}
