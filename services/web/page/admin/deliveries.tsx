import type { ResponseOf } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ShowMore } from '../ui/show-more.tsx'
import { ListTable } from '../ui/table.tsx'

type Delivery = ResponseOf<'GET /subscriptions/:subscriptionId/deliveries'>['deliveries'][number]

interface DeliveriesProps {
  workspace: Workspace
  subscription: { id: string; url: string }
  onClose: () => void
}

const pageSize = 50

/** The deliveries of a subscription, newest first, and the form to send events again. */
export function Deliveries({ workspace: { client }, subscription, onClose }: DeliveriesProps) {
  const params = { subscriptionId: subscription.id }
  const deliveries = useSignal<readonly Delivery[] | undefined>(undefined)
  const hasMore = useSignal(false)
  const note = useSignal('')

  async function load(after?: string) {
    const query = { limit: pageSize, ...(after && { after }) }
    const page = await attempt(client.request('GET /subscriptions/:subscriptionId/deliveries', { params, query }))
    if (!page) return
    deliveries.value = after ? [...(deliveries.value ?? []), ...page.deliveries] : page.deliveries
    hasMore.value = page.hasMore
  }
  useEffect(() => void load(), [])

  return (
    <Dialog name={t('Deliveries')} class="wide" onClose={onClose}>
      <p class="address">{subscription.url}</p>
      <Form
        name={t('Send again')}
        submitLabel={t('Send again')}
        isSecondary
        onSubmit={async ({ since = '' }) => {
          note.value = ''
          const body = { since: new Date(since).getTime() }
          const { events } = await client.request('POST /subscriptions/:subscriptionId/replay', { params, body })
          note.value = t(
            '{count, plural, one {# event is} other {# events are}} checked. Those of this subscription are sent again',
            {
              count: events,
            },
          )
          await load()
        }}
      >
        <Field
          label={t('Events since')}
          hint={t('The server keeps events for a limited time. The receiver recognises repeated events by their ids')}
          name="since"
          type="datetime-local"
          defaultValue={localTime(Date.now() - hourMs)}
          required
        />
      </Form>
      <p role="status">{note.value}</p>
      <ListTable
        list={deliveries.value}
        none={t('Nothing was sent in the last days.')}
        heads={[t('Time'), t('Event'), t('Attempt'), t('Response'), t('Duration')]}
      >
        {({ id, createdAt, type, attempt: count, status, error, durationMs }) => (
          <tr key={id}>
            <td class="moment">{dateTimeOf(createdAt)}</td>
            <td>
              <code>{type}</code>
            </td>
            <td>{count}</td>
            <td data-failed={error !== null || undefined}>
              {status} {error}
            </td>
            <td>{t('{count} ms', { count: durationMs })}</td>
          </tr>
        )}
      </ListTable>
      <div class="dialog-actions">
        {hasMore.value && <ShowMore onMore={() => load(deliveries.value!.at(-1)!.id)} />}
        <RequestButton onRequest={() => load()}>{t('Look again')}</RequestButton>
      </div>
    </Dialog>
  )
}

const hourMs = 3_600_000

/** A time in the format of the field, in local time: `2026-11-23T14:05`. */
function localTime(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return date.toISOString().slice(0, 16)
}
