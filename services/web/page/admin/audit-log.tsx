import type { ResponseOf } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { findPerson } from '../app/find-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, t } from '../texts/texts.ts'
import { endOfDay, startOfDay } from '../ui/days.ts'
import { Field, Form } from '../ui/form.tsx'
import { attempt } from '../ui/problems.ts'
import { ShowMore } from '../ui/show-more.tsx'
import { Table } from '../ui/table.tsx'

type AuditQuery = { action?: string; actorId?: string; from?: number; to?: number }
type Entry = ResponseOf<'GET /admin/audit-log'>['entries'][number]
const pageSize = 50

/** The audit log: who has changed what, newest entry first. */
export function AuditLog({ workspace }: { workspace: Workspace }) {
  const entries = useSignal<readonly Entry[] | undefined>(undefined)
  const hasMore = useSignal(false)
  const filter = useSignal<AuditQuery>({})

  /** Fetches the newest entries, or those after the shown ones. */
  async function load(shown: readonly Entry[]) {
    const wanted = filter.value
    const query = { limit: pageSize, ...wanted, ...positionAfter(shown) }
    const page = await attempt(workspace.client.request('GET /admin/audit-log', { query }))
    // The filter was changed meanwhile, so these entries belong to the previous filter.
    if (!page || filter.value !== wanted) return
    const known = new Set(shown.map(({ id }) => id))
    entries.value = [...shown, ...page.entries.filter(({ id }) => !known.has(id))]
    hasMore.value = page.hasMore
    for (const { actorId, targetType, targetId } of page.entries) {
      workspace.loadUser(actorId)
      if (targetType === 'user') workspace.loadUser(targetId)
    }
  }
  useEffect(() => void load([]), [])

  const nameOf = (id: string, otherwise = '') => {
    const name = workspace.userName(id, otherwise)
    return name !== '' ? (
      name
    ) : (
      <code class="short-id" title={id}>
        {shortIdOf(id)}
      </code>
    )
  }
  return (
    <>
      <AuditFilters
        workspace={workspace}
        onFilter={(next) => {
          filter.value = next
          return load([])
        }}
      />
      {entries.value?.length === 0 ? (
        <p class="quiet">{t('Nothing was found')}</p>
      ) : (
        <Table heads={[t('Time'), t('Who'), t('Action'), t('Target'), t('Address')]}>
          {entries.value?.map(({ id, createdAt, actorId, action, targetType, targetId, metadata, ip }) => (
            <tr key={id}>
              <td class="moment">{dateTimeOf(createdAt)}</td>
              <td dir="auto">{nameOf(actorId)}</td>
              <td>
                <code>{action}</code>
              </td>
              <td dir="auto">
                {targetType} {nameOf(targetId, nameIn(metadata))}
              </td>
              <td>{ip}</td>
            </tr>
          ))}
        </Table>
      )}
      {hasMore.value && <ShowMore onMore={() => load(entries.value!)} />}
    </>
  )
}

/**
 * The position after these entries, by the time of the last one. Entries that are recorded meanwhile are newer, so they do not change
 * the position.
 */
function positionAfter(shown: readonly Entry[]): { to?: number; offset?: number } {
  const last = shown.at(-1)
  if (!last) return {}
  return { to: last.createdAt, offset: shown.filter(({ createdAt }) => createdAt === last.createdAt).length }
}

/** The name in the details of an entry. The entry of a removed person has it. */
const nameIn = (details: unknown) => (details as { userName?: string } | undefined)?.userName

/** The random end of an id, which differs between ids of the same time. */
const shortIdOf = (id: string) => (id.length > 12 ? `…${id.slice(-8)}` : id)

interface AuditFiltersProps {
  workspace: Workspace
  onFilter: (query: AuditQuery) => Promise<unknown>
}

/** The form to choose entries by action, person and days. */
const AuditFilters = ({ workspace, onFilter }: AuditFiltersProps) => (
  <Form
    isSecondary
    class="filters"
    name={t('Filters')}
    submitLabel={t('Filter')}
    onSubmit={async ({ action = '', who = '', from = '', to = '' }) => {
      const actorId = who.trim() === '' ? undefined : await findPerson(workspace.client, who.trim())
      await onFilter({
        ...(action.trim() !== '' && { action: action.trim() }),
        ...(actorId !== undefined && { actorId }),
        ...(from !== '' && { from: startOfDay(from) }),
        ...(to !== '' && { to: endOfDay(to) }),
      })
    }}
  >
    <Field label={t('Action')} name="action" placeholder="user.create" dir="ltr" />
    <Field label={t('Who')} name="who" />
    <Field label={t('From day')} name="from" type="date" />
    <Field label={t('To day')} name="to" type="date" />
  </Form>
)
