import { RequestFailed, type ResponseOf, type Routes } from '@parley/client'
import type { User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { findChannels, knownChannels } from '../dialogs/choices.ts'
import { type Choice, PickOne } from '../dialogs/pick-one.tsx'
import { t } from '../texts/texts.ts'
import { Field, Select } from '../ui/form.tsx'
import { IconButton } from '../ui/icons.tsx'
import { ignoreFailure } from '../ui/retries.ts'
import { SecretDialog } from '../ui/secret-dialog.tsx'

export type Subscription = ResponseOf<'GET /subscriptions'>['subscriptions'][number]
type EventName = Routes['POST /subscriptions']['body']['events'][number]
type Format = NonNullable<Routes['POST /subscriptions']['body']['format']>

/** The events of each format. The most usual ones are chosen by default. */
const events: Record<Format, Partial<Record<EventName, boolean>>> = {
  parley: {
    NEW_MESSAGE: true,
    UPDATE_MESSAGE: false,
    DELETE_MESSAGE: false,
    NEW_THREAD_REPLY: true,
    UPDATE_THREAD_REPLY: false,
    DELETE_THREAD_REPLY: false,
    NEW_DM_MESSAGE: true,
    UPDATE_DM_MESSAGE: false,
    DELETE_DM_MESSAGE: false,
    NEW_CONVERSATION: false,
    NEW_REACTION: false,
    DELETE_REACTION: false,
    NEW_CHANNEL: false,
    UPDATE_CHANNEL: false,
    DELETE_CHANNEL: false,
    NEW_USER: false,
    UPDATE_USER: false,
    REMOVE_USER: false,
    USER_EXIT: false,
    NEW_GROUP: false,
    UPDATE_GROUP: false,
    DELETE_GROUP: false,
    NEW_WEBHOOK: false,
    UPDATE_WEBHOOK: false,
    DELETE_WEBHOOK: false,
    UPDATE_SERVER_SETTINGS: false,
    READ_UPDATE: false,
    UPDATE_CHANNEL_PREFERENCES: false,
    THREAD_READ_UPDATE: false,
    SAVED_UPDATE: false,
  },
  slack: {
    message: true,
    app_mention: true,
    reaction_added: false,
    reaction_removed: false,
    member_joined_channel: false,
    member_left_channel: false,
    channel_created: false,
    pin_added: false,
    user_change: false,
  },
}

interface EditSubscriptionProps {
  workspace: Workspace
  bots: readonly User[]
  /** The subscription to change. Without it, a new one is created. */
  subscription?: Subscription
  onChanged: () => void
  onClose: () => void
}

/** Creates a subscription of a bot and shows the signing secret once, or changes a subscription. */
export function EditSubscription({ workspace, bots, subscription, onChanged, onClose }: EditSubscriptionProps) {
  const { client } = workspace
  const channels = useChosenChannels(workspace, subscription)
  const format = useSignal<Format>(subscription?.format ?? 'parley')

  async function save(fields: Record<string, string>): Promise<string | null> {
    const { url = '', botId = '' } = fields
    const chosen = (Object.keys(events[format.value]) as EventName[]).filter((name) => fields[name] !== undefined)
    if (chosen.length === 0) throw new RequestFailed(400, t('Choose at least one event'))
    const channelIds = channels.value.map(({ id }) => id)
    const body = { url, events: chosen }
    let secret: string | undefined
    if (subscription) {
      const params = { subscriptionId: subscription.id }
      await client.request('PUT /subscriptions/:subscriptionId', { params, body: { ...body, channelIds } })
    } else {
      const created = await client.request('POST /subscriptions', {
        body: { ...body, botId, format: format.value, ...(channelIds.length > 0 && { channelIds }) },
      })
      secret = created.subscription.secret
    }
    onChanged()
    return secret ?? null
  }

  return (
    <SecretDialog
      name={subscription ? t('Edit subscription') : t('Create subscription')}
      submitLabel={subscription ? t('Save') : t('Create')}
      secretLabel={t('Secret')}
      secretHint={t('The program verifies signatures with it.')}
      onSubmit={save}
      onClose={onClose}
    >
      <Field
        label={t('URL')}
        hint={t('The address of the program that receives the events')}
        name="url"
        placeholder="https://"
        dir="ltr"
        defaultValue={subscription?.url}
        maxLength={2_000}
        required
        autoFocus
      />
      {!subscription && (
        <>
          <Select
            label={t('Bot')}
            hint={t('Events that this bot may read are sent')}
            name="botId"
            options={bots.map(({ id, userName }) => [id, userName] as const)}
          />
          <Select
            label={t('Format')}
            value={format.value}
            options={[
              ['parley', 'Parley'],
              ['slack', 'Slack'],
            ]}
            onSelect={(chosen) => (format.value = chosen)}
          />
        </>
      )}
      {format.value === 'slack' && (
        <p class="quiet">
          {t(
            'These events are signed with the signing secret of the bot. When you save, the server sends a challenge, and the program must answer it.',
          )}
        </p>
      )}
      <EventChoice format={format.value} subscription={subscription} />
      <ChannelChoice workspace={workspace} chosen={channels.value} onChange={(next) => (channels.value = next)} />
    </SecretDialog>
  )
}

/** The channels of the subscription. They are shown with their names as soon as these are fetched. */
function useChosenChannels({ client }: Workspace, subscription: Subscription | undefined) {
  const channels = useSignal<readonly Choice[]>(subscription?.channelIds?.map((id) => ({ ...unnamed, id })) ?? [])
  useEffect(() => {
    for (const id of subscription?.channelIds ?? []) {
      client.request('GET /channels/:channelId', { params: { channelId: id } }).then(({ channel: { name } }) => {
        channels.value = channels.value.map((one) => (one.id === id ? { ...one, name: `#${name}` } : one))
        // A deleted channel is shown with its id, so that it can be removed.
      }, ignoreFailure)
    }
  }, [])
  return channels
}

const unnamed: Omit<Choice, 'id'> = { name: '…', hint: '', isPerson: false }

interface EventChoiceProps {
  format: Format
  subscription: Subscription | undefined
}

const EventChoice = ({ format, subscription }: EventChoiceProps) => (
  <fieldset class="choices">
    <legend>{t('Events')}</legend>
    {Object.entries(events[format]).map(([name, isUsual]) => (
      <label key={name} class="check">
        <input
          type="checkbox"
          name={name}
          defaultChecked={subscription ? subscription.events.includes(name) : isUsual}
        />
        <code>{name}</code>
      </label>
    ))}
  </fieldset>
)

interface ChannelChoiceProps {
  workspace: Workspace
  chosen: readonly Choice[]
  onChange: (next: readonly Choice[]) => void
}

/** The choice between some channels and all channels that the bot may read. */
function ChannelChoice({ workspace, chosen, onChange }: ChannelChoiceProps) {
  const isChoosing = useSignal(false)
  return (
    <div class="field">
      <span class="label">{t('Channels')}</span>
      {chosen.length === 0 && <span class="hint">{t('All that the bot may read')}</span>}
      <ul class="chips">
        {chosen.map(({ id, name }) => (
          <li key={id} class="chip">
            <span dir="auto">{name}</span>
            <IconButton
              icon="close"
              name={t('Remove {name}', { name })}
              onClick={() => onChange(chosen.filter((one) => one.id !== id))}
            />
          </li>
        ))}
      </ul>
      <span>
        <button type="button" class="button" onClick={() => (isChoosing.value = true)}>
          {t('Only some channels')}
        </button>
      </span>
      {isChoosing.value && (
        <PickOne
          workspace={workspace}
          name={t('Choose a channel')}
          label={t('Channel')}
          choices={knownChannels(workspace)}
          find={(text, signal) => findChannels(workspace, text, signal)}
          onClose={() => (isChoosing.value = false)}
          onChoose={(choice) => {
            isChoosing.value = false
            if (!chosen.some(({ id }) => id === choice.id)) onChange([...chosen, choice])
          }}
        />
      )}
    </div>
  )
}
