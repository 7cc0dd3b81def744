import { type Reply, RequestFailed } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, t } from '../texts/texts.ts'
import { endOf, startOf } from '../ui/days.ts'
import { Field, Form } from '../ui/form.tsx'
import { Table } from '../ui/table.tsx'

type AuditQuery = { action?: string; actorId?: string; from?: number; to?: number }
type Entry = Reply<'GET /admin/audit-log'>['entries'][number]
const pageSize = 50

/** Who has changed what, newest first. */
export function AuditLog({ workspace }: { workspace: Workspace }) {
  const entries = useSignal<readonly Entry[]>([])
  const hasMore = useSignal(false)
  const filter = useSignal<AuditQuery>({})

  async function load(offset: number) {
    const query = { limit: pageSize, offset, ...filter.value }
    const page = await attempt(workspace.client.request('GET /admin/audit-log', { query }))
    if (!page) return
    entries.value = offset === 0 ? page.entries : [...entries.value, ...page.entries]
    hasMore.value = page.hasMore
    for (const { actorId, targetType, targetId } of page.entries) {
      workspace.loadUser(actorId)
      if (targetType === 'user') workspace.loadUser(targetId)
    }
  }
  useEffect(() => void load(0), [])

  const nameOf = (id: string) => {
    const name = workspace.userName(id, '')
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
          return load(0)
        }}
      />
      <Table heads={[t('Time'), t('Who'), t('Action'), t('Target'), t('Address')]}>
        {entries.value.map(({ id, createdAt, actorId, action, targetType, targetId, ip }) => (
          <tr key={id}>
            <td class="moment">{dateTimeOf(createdAt)}</td>
            <td dir="auto">{nameOf(actorId)}</td>
            <td>
              <code>{action}</code>
            </td>
            <td dir="auto">
              {targetType} {nameOf(targetId)}
            </td>
            <td>{ip}</td>
          </tr>
        ))}
      </Table>
      {hasMore.value && (
        <button type="button" class="button" onClick={() => void load(entries.value.length)}>
          {t('Show more')}
        </button>
      )}
    </>
  )
}

/** Its end, which tells ids apart that were made at the same time. */
const shortIdOf = (id: string) => (id.length > 12 ? `…${id.slice(-8)}` : id)

interface AuditFiltersProps {
  workspace: Workspace
  onFilter: (query: AuditQuery) => Promise<unknown>
}

/** The form to choose entries by action, person and days. */
const AuditFilters = ({ workspace, onFilter }: AuditFiltersProps) => (
  <Form
    class="filters"
    name={t('Filters')}
    action={t('Filter')}
    onSubmit={async ({ action = '', who = '', from = '', to = '' }) => {
      const actorId = who.trim() === '' ? undefined : await findPerson(workspace, who.trim())
      await onFilter({
        ...(action.trim() !== '' && { action: action.trim() }),
        ...(actorId !== undefined && { actorId }),
        ...(from !== '' && { from: startOf(from) }),
        ...(to !== '' && { to: endOf(to) }),
      })
    }}
  >
    <Field label={t('Action')} name="action" placeholder="user.create" dir="ltr" />
    <Field label={t('Who')} name="who" />
    <Field label={t('From day')} name="from" type="date" />
    <Field label={t('To day')} name="to" type="date" />
  </Form>
)

async function findPerson({ client }: Workspace, name: string): Promise<string> {
  const { users } = await client.request('GET /users', { query: { q: name, limit: 50 } })
  const wanted = name.toLowerCase()
  const found = users.find(({ userName, email }) => userName.toLowerCase() === wanted || email === wanted)
  if (!found) throw new RequestFailed(400, t('Nobody is called {name}', { name }))
  return found.id
}
