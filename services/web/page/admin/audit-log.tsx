import type { Reply } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, t } from '../texts/texts.ts'
import { Field } from '../ui/form.tsx'

type Entry = Reply<'GET /admin/audit-log'>['entries'][number]
const pageSize = 50

export function AuditLog({ workspace }: { workspace: Workspace }) {
  const entries = useSignal<readonly Entry[]>([])
  const hasMore = useSignal(false)
  const action = useSignal('')

  async function load(offset: number) {
    const query = { limit: pageSize, offset, ...(action.value !== '' && { action: action.value }) }
    const page = await attempt(workspace.client.request('GET /admin/audit-log', { query }))
    if (!page) return
    entries.value = offset === 0 ? page.entries : [...entries.value, ...page.entries]
    hasMore.value = page.hasMore
  }
  useEffect(() => void load(0), [])

  const nameOf = (id: string) => workspace.users.value.get(id)?.userName ?? id
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          action.value = String(new FormData(event.currentTarget).get('action') ?? '').trim()
          void load(0)
        }}
      >
        <Field label={t('Action')} name="action" placeholder="user.create" />
      </form>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('Time')}</th>
            <th scope="col">{t('Who')}</th>
            <th scope="col">{t('Action')}</th>
            <th scope="col">{t('Target')}</th>
            <th scope="col">{t('Address')}</th>
          </tr>
        </thead>
        <tbody>
          {entries.value.map(({ id, createdAt, actorId, action: name, targetType, targetId, ip }) => (
            <tr key={id}>
              <td>{dateTimeOf(createdAt)}</td>
              <td dir="auto">{nameOf(actorId)}</td>
              <td>
                <code>{name}</code>
              </td>
              <td dir="auto">
                {targetType} {nameOf(targetId)}
              </td>
              <td>{ip}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {hasMore.value && (
        <button type="button" class="button" onClick={() => void load(entries.value.length)}>
          {t('Show more')}
        </button>
      )}
    </>
  )
}
