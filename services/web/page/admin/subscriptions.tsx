import type { User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { Menu } from '../ui/menu.tsx'
import { attempt } from '../ui/problems.ts'
import { Table } from '../ui/table.tsx'
import { CreateForBot } from './create-for-bot.tsx'
import { Deliveries } from './deliveries.tsx'
import { EditSubscription, type Subscription } from './edit-subscription.tsx'

type Task = 'edit' | 'deliveries' | 'remove'
type OpenDialog = { task: 'create' } | { task: Task; subscription: Subscription }

/** The subscriptions: addresses to which the server sends events that bots may read. */
export function Subscriptions({ workspace }: { workspace: Workspace }) {
  const { client } = workspace
  const data = useFetched(async () => {
    const [{ subscriptions }, { bots }] = await Promise.all([
      client.request('GET /subscriptions'),
      client.request('GET /bots'),
    ])
    return { subscriptions, bots }
  })
  const { fetched, load } = data
  const openDialog = useSignal<OpenDialog | null>(null)
  const close = () => {
    openDialog.value = null
  }
  const change = ({ id }: Subscription, body: { isPaused: boolean }) => {
    const params = { subscriptionId: id }
    return attempt(client.request('PUT /subscriptions/:subscriptionId', { params, body })).then(load)
  }
  if (!fetched.value) return <NotFetched of={data} />
  const { subscriptions, bots } = fetched.value
  const { value: dialog } = openDialog
  return (
    <>
      <CreateForBot
        label={t('Create subscription')}
        onCreate={() => (openDialog.value = { task: 'create' })}
        bots={bots}
        reason={t('Events are sent to bots. Create a bot first.')}
        none={t('There are no subscriptions yet.')}
        isEmpty={subscriptions.length === 0}
      />
      {subscriptions.length > 0 && (
        <Table heads={[t('URL'), t('Bot'), t('Events'), t('State')]} hasActions>
          {subscriptions.map((subscription) => (
            <SubscriptionRow
              key={subscription.id}
              subscription={subscription}
              botName={nameOf(bots, subscription.botId)}
              onChoose={(task) => (openDialog.value = { task, subscription })}
              onPause={(isPaused) => void change(subscription, { isPaused })}
            />
          ))}
        </Table>
      )}
      {dialog?.task === 'create' && (
        <EditSubscription workspace={workspace} bots={bots} onChanged={() => void load()} onClose={close} />
      )}
      {dialog?.task === 'edit' && (
        <EditSubscription
          workspace={workspace}
          bots={bots}
          subscription={dialog.subscription}
          onChanged={() => void load()}
          onClose={close}
        />
      )}
      {dialog?.task === 'deliveries' && (
        <Deliveries workspace={workspace} subscription={dialog.subscription} onClose={close} />
      )}
      {dialog?.task === 'remove' && (
        <ConfirmRequest
          name={t('Delete subscription')}
          question={t('Nothing more is sent to {name}.', { name: dialog.subscription.url })}
          confirmLabel={t('Delete')}
          onConfirm={() => {
            const params = { subscriptionId: dialog.subscription.id }
            return client.request('DELETE /subscriptions/:subscriptionId', { params }).finally(() => void load())
          }}
          onClose={close}
        />
      )}
    </>
  )
}

interface SubscriptionRowProps {
  subscription: Subscription
  botName: string
  onChoose: (task: Task) => void
  onPause: (isPaused: boolean) => void
}

const SubscriptionRow = ({ subscription, botName, onChoose, onPause }: SubscriptionRowProps) => (
  <tr ref={passFocus}>
    <th scope="row" class="address">
      {subscription.url}
    </th>
    <td dir="auto">{botName}</td>
    <td title={subscription.events.join(', ')}>{subscription.events.length}</td>
    <td>
      <State subscription={subscription} />
    </td>
    <td>
      <Menu
        name={t('Actions for {name}', { name: subscription.url })}
        items={[
          { name: t('Edit'), onChoose: () => onChoose('edit') },
          { name: t('Deliveries'), onChoose: () => onChoose('deliveries') },
          subscription.isPaused
            ? { name: t('Continue'), onChoose: () => onPause(false) }
            : { name: t('Pause'), onChoose: () => onPause(true) },
          { name: t('Delete'), isDangerous: true, onChoose: () => onChoose('remove') },
        ]}
      />
    </td>
  </tr>
)

const nameOf = (bots: readonly User[], id: string) => bots.find((bot) => bot.id === id)?.userName ?? t('Unknown')

function State({ subscription }: { subscription: Subscription }) {
  const { isPaused, pauseReason, failingSince, nextAttemptAt } = subscription
  if (isPaused) return pauseReason === null ? t('Paused') : t('Paused: {reason}', { reason: pauseReason })
  if (failingSince === null) return t('Active')
  return (
    <>
      {t('Fails since {time}', { time: dateTimeOf(failingSince) })}
      {nextAttemptAt !== null && (
        <div class="quiet">{t('Next attempt at {time}', { time: dateTimeOf(nextAttemptAt) })}</div>
      )}
    </>
  )
}
