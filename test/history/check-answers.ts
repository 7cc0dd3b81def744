import type { Report } from './check.ts'
import type { History, Operation } from './history.ts'
import { touches } from './register.ts'
import type { Rights } from './rights.ts'

/** Each reply must have been right at some moment between the request and the reply. */
export function checkAnswers(history: History, rights: Rights, report: Report): void {
  const placed = new Map(history.operations.flatMap((made) => (made.told.id ? [[made.told.id, made] as const] : [])))

  for (const operation of history.operations) {
    const { who, session, act, invoked, completed, outcome, status } = operation
    const may = (spans: Parameters<typeof touches>[0]) => touches(spans, invoked, completed)
    const complain = (promise: string) => report(promise, describe(operation))

    if (outcome === 'ok') {
      if (rights.endOf(who, session) < invoked) complain('nobody acts with a session that is over')
      if ('place' in act) {
        if (!may(rights.mayRead(who, act.place))) complain('nobody acts where they have no access')
        if (!may(rights.channelMayBeThere(act.place))) complain('nobody acts in a deleted channel')
      }
      if (isForAdmins() && !may(rights.admin(who, true))) {
        complain('only admins do what is for admins')
      }
    } else if (outcome === 'refused' && !explains()) complain('nobody is refused without a reason')

    function explains(): boolean {
      switch (status) {
        case 401:
          return may(rights.sessionMayBeOver(who, session))
        case 403:
          if ('place' in act && may(rights.mayLack(who, act.place))) return true
          if (act.kind === 'join' && may(rights.member(who, act.place, false)) && may(rights.open(act.place, false)))
            return true
          return isForOwners() && may(rights.admin(who, false))
        case 404:
          if ('place' in act && may(rights.channelMayBeGone(act.place))) return true
          if ((act.kind === 'join' || act.kind === 'leave') && may(rights.mayLack(who, act.place))) return true
          if (act.kind === 'remove') return may(rights.live(act.user, false))
          return messageMayBeGone()
        case 400:
          // A removed person can neither be a member nor have a role.
          if (act.kind === 'role' || act.kind === 'group') return may(rights.live(act.user, false))
          return 'members' in act && (act.members ?? []).some((user) => may(rights.live(user, false)))
        default:
          return false
      }
    }

    function isForAdmins() {
      return ['role', 'remove', 'deactivate', 'group'].includes(act.kind)
    }

    function isForOwners() {
      if (isForAdmins()) return true
      return (act.kind === 'change' || act.kind === 'drop') && rights.creations.get(act.place)?.who !== who
    }

    function messageMayBeGone() {
      const id = 'message' in act ? act.message : act.kind === 'send' ? act.parent : null
      const made = placed.get(id ?? '')?.act
      const parent = made?.kind === 'send' ? made.parent : null
      return rights.messageMayBeGoneFrom(id, parent) <= completed
    }
  }

  checkLists(history, rights, report)
}

/**
 * A listing has everything that was acknowledged before the request, in order, and nothing that was deleted before the
 * request.
 */
function checkLists(history: History, rights: Rights, report: Report) {
  const deleted = new Map<string, number>()
  for (const { act, outcome, completed } of history.operations) {
    if (act.kind === 'delete' && outcome === 'ok') deleted.set(act.message, completed)
  }
  const sends = history.operations.filter(({ act, outcome }) => act.kind === 'send' && outcome === 'ok')
  const byPlace = Map.groupBy(sends, ({ act }) => (act.kind === 'send' && act.parent === null ? act.place : ''))

  for (const operation of history.operations) {
    const { act, told, invoked, completed } = operation
    if (act.kind !== 'list' || !told.listed) continue
    const seqs = told.listed.map(({ seq }) => seq)
    if (seqs.some((seq, index) => index > 0 && seq <= seqs[index - 1]!)) {
      report('a listing is in the order of seq', describe(operation))
    }
    const listed = new Set(told.listed.map(({ id }) => id))
    for (const { id } of told.listed) {
      if ((deleted.get(id) ?? Infinity) < invoked)
        report('what was deleted is not listed', `${describe(operation)} has ${id}`)
    }
    const lowest = seqs[0] ?? 0
    for (const send of byPlace.get(act.place) ?? []) {
      const { id, seq } = send.told
      const mustBeThere = send.completed < invoked && seq! >= lowest && rights.messageMayBeGoneFrom(id!) > completed
      if (mustBeThere && !listed.has(id!)) {
        report(
          'what was acknowledged is listed',
          `${describe(operation)} lacks ${id} (seq ${seq}), sent by #${send.id}`,
        )
      }
    }
  }
}

export function describe({
  id,
  who,
  act,
  invoked,
  completed,
  outcome,
  status,
  retriedFor,
  toldToWait,
  told,
}: Operation): string {
  const { listed: _, ...shown } = told
  const time = `${Math.round(invoked)}–${Math.round(completed)} ms`
  const answer = `${outcome} ${status ?? ''}, told ${JSON.stringify(shown)}`
  const tries = retriedFor.length > 0 ? `, asked again after: ${retriedFor.join('; ')}` : ''
  const waits = toldToWait > 0 ? `, told to wait ${toldToWait} times` : ''
  return `#${id} by ${who} ${JSON.stringify(act)}: ${answer} (${time}${tries}${waits})`
}
