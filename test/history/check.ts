import { checkAnswers } from './check-answers.ts'
import { checkCopies } from './check-copies.ts'
import { checkDeliveries } from './check-deliveries.ts'
import { checkStorage, type Final } from './check-storage.ts'
import type { History } from './history.ts'
import { findRights } from './rights.ts'

export interface Violation {
  /** The broken guarantee. */
  promise: string
  what: string
}

export type Report = (promise: string, what: string) => void

/** All observations in the history and in the final state that no order of operations can explain. */
export function check(history: History, final: Final): Violation[] {
  const violations: Violation[] = []
  const report: Report = (promise, what) => void violations.push({ promise, what })
  const rights = findRights(history)
  for (const oddity of history.oddities) report('an event is the same for everybody', oddity)
  checkAnswers(history, rights, report)
  checkStorage(history, rights, final, report)
  checkDeliveries(history, rights, report)
  checkCopies(history, rights, final, report)
  return violations
}
