import type { ResponseOf } from '@parley/client'
import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import { findPerson } from '../app/find-person.ts'
import { nameOfPlace } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { endOfDay, startOfDay } from '../ui/days.ts'
import { Field, Form } from '../ui/form.tsx'
import { attempt } from '../ui/problems.ts'
import { ResultCount } from '../ui/result-count.tsx'
import { ignoreFailure } from '../ui/retries.ts'
import { ShowMore } from '../ui/show-more.tsx'
import { Table } from '../ui/table.tsx'
import { auditActions } from './audit-actions.ts'

type AuditQuery = { action?: string; actorId?: string; from?: number; to?: number }
type Entry = ResponseOf<'GET /admin/audit-log'>['entries'][number]
const pageSize = 50
/** The largest page of channels that the server sends. */
const maxChannels = 200

/** The audit log: who has changed what, newest entry first. */
export function AuditLog({ workspace }: { workspace: Workspace }) {
  const data = useFetched(() => fetchPage([]))
  const { fetched, load } = data
  const entries = fetched.value?.entries
  const filter = useSignal<AuditQuery>({})
  const isFiltered = useComputed(() => Object.keys(filter.value).length > 0)
  /** The names of channels that neither the shown entries nor the page know. */
  const channelNames = useSignal<ReadonlyMap<string, string>>(new Map())
  const names = useComputed(() => namesIn(fetched.value?.entries ?? []))

  /** The shown entries and those after them, or the newest ones. Undefined when the filter was changed meanwhile. */
  async function fetchPage(shown: readonly Entry[]): Promise<ResponseOf<'GET /admin/audit-log'> | undefined> {
    const wanted = filter.value
    const query = { limit: pageSize, ...wanted, ...positionAfter(shown) }
    const page = await workspace.client.request('GET /admin/audit-log', { query })
    if (filter.value !== wanted) return undefined
    const known = new Set(shown.map(({ id }) => id))
    return { ...page, entries: [...shown, ...page.entries.filter(({ id }) => !known.has(id))] }
  }
  async function showMore() {
    const page = await attempt(fetchPage(entries!))
    if (page) fetched.value = page
  }
  useEffect(() => {
    for (const { actorId, targetType, targetId } of entries ?? []) {
      workspace.loadUser(actorId)
      if (targetType === 'user') workspace.loadUser(targetId)
    }
    const isUnnamed = ({ targetType, targetId }: Entry) => targetType === 'channel' && !nameOf(targetId)
    if (channelNames.value.size === 0 && entries?.some(isUnnamed)) void loadChannels().catch(ignoreFailure)
  }, [entries])

  /** Entries are shown without the names when they cannot be fetched. The next page of entries requests them again. */
  async function loadChannels() {
    const query = { limit: maxChannels, members: 'false' } as const
    const { channels } = await workspace.client.request('GET /channels', { query })
    channelNames.value = new Map(channels.map(({ id, name }) => [id, name]))
  }

  /** The name of a person or of the target of an entry. A known one is the current name. */
  function nameOf(id: string): string | undefined {
    const place = workspace.place(id)
    const known = (place && nameOfPlace(place)) ?? channelNames.value.get(id)
    return known ?? (workspace.userName(id, '') || names.value.get(id))
  }
  return (
    <>
      <AuditFilters
        workspace={workspace}
        onFilter={(next) => {
          filter.value = next
          return load()
        }}
      />
      <NotFetched of={data} />
      <ResultCount count={isFiltered.value ? entries?.length : undefined} />
      {entries && entries.length > 0 && (
        <Table heads={[t('Time'), t('Who'), t('Action'), t('Target'), t('Address')]}>
          {entries.map(({ id, createdAt, actorId, action, targetType, targetId, ip }) => (
            <tr key={id}>
              <td class="moment">{dateTimeOf(createdAt)}</td>
              <td dir="auto">
                <Named id={actorId} name={nameOf(actorId)} />
              </td>
              <td>
                <code>{action}</code>
              </td>
              <td dir="auto">
                {targetType} <Named id={targetId} name={nameOf(targetId)} />
              </td>
              <td>{ip}</td>
            </tr>
          ))}
        </Table>
      )}
      {fetched.value?.hasMore && <ShowMore onMore={showMore} />}
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

/** For each type of target: the key of its name in the details of an entry. */
const nameKeys: Record<string, string> = {
  user: 'userName',
  group: 'handle',
  channel: 'name',
  webhook: 'name',
  command: 'name',
  token: 'name',
  'scim-client': 'name',
}

/** The names of targets, from the details of all these entries. The newest entry is the first one, and has the newest name. */
function namesIn(entries: readonly Entry[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { targetType, targetId, metadata } of entries) {
    const key = nameKeys[targetType]
    if (key === undefined || names.has(targetId)) continue
    // An entry of a change has the details after the change in `to`.
    const { to, ...details } = (metadata ?? {}) as Record<string, unknown>
    const name = (to as Record<string, unknown> | undefined)?.[key] ?? details[key]
    if (typeof name === 'string') names.set(targetId, name)
  }
  return names
}

/** A name, or the end of the id when the name is not known. */
const Named = ({ id, name }: { id: string; name: string | undefined }) =>
  name ? (
    <span title={id}>{name}</span>
  ) : (
    <code class="short-id" title={id}>
      {shortIdOf(id)}
    </code>
  )

/** The number of characters at the end of an id that are shown. They are random, so they differ between ids of the same time. */
const shownOfId = 8
const maxWholeId = 12

const shortIdOf = (id: string) => (id.length > maxWholeId ? `…${id.slice(-shownOfId)}` : id)

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
    onSubmit={async ({ action: typed = '', who = '', from = '', to = '' }) => {
      // All actions are in lower case, and a phone begins a field with a capital letter.
      const action = typed.trim().toLowerCase()
      const actor = who.trim() === '' ? undefined : await findActor(workspace, who.trim())
      await onFilter({
        ...(action !== '' && { action }),
        ...(actor && { actorId: actor.id }),
        ...(from !== '' && { from: startOfDay(from) }),
        ...(to !== '' && { to: endOfDay(to) }),
      })
    }}
  >
    <Field label={t('Action')} name="action" placeholder="user.create" dir="ltr" list="audit-actions" />
    <datalist id="audit-actions">
      {auditActions.map((action) => (
        <option key={action} value={action} />
      ))}
    </datalist>
    <Field label={t('Who')} name="who" />
    <Field label={t('From day')} name="from" type="date" />
    <Field label={t('To day')} name="to" type="date" />
  </Form>
)

/** The person with this name, also a deactivated one. */
const findActor = ({ client }: Workspace, name: string) =>
  findPerson(client, name, async () => {
    const query = { q: name, isActive: 'false' } as const
    return (await client.request('GET /users', { query })).users
  })
