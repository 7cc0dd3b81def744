import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { customStatusOf } from '../app/custom-status.ts'
import type { Workspace } from '../app/workspace.ts'
import { LoadedEmojiPicker } from '../messages/loaded-emoji-picker.tsx'
import { momentOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form, Select } from '../ui/form.tsx'
import { Icon } from '../ui/icons.tsx'
import { maxStatusText } from '../ui/limits.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'

const minute = 60_000

/** When a status ends. `kept` is the time that is set already. */
type Duration = 'kept' | 'never' | '30' | '60' | '240' | 'today' | 'week'

/** The dialog in which people set their custom status. */
export function SetStatus({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const { client, myId } = workspace
  // Changes on another device do not replace what the person types.
  const { current: status } = useRef(customStatusOf(workspace, myId))
  const emoji = useSignal(status?.emoji ?? null)
  const text = useSignal(status?.text ?? '')
  const duration = useSignal<Duration>(status?.expiresAt ? 'kept' : 'never')
  const isPicking = useSignal(false)
  const remove = () => client.request('DELETE /users/me/status')

  async function save() {
    if (emoji.value === null && text.value.trim() === '') await remove()
    else {
      const expiresAt = duration.value === 'kept' ? status!.expiresAt : endOf(duration.value, new Date())
      const body = { text: text.value, ...(emoji.value && { emoji: emoji.value }), ...(expiresAt && { expiresAt }) }
      await client.request('PUT /users/me/status', { body })
    }
    onClose()
  }

  const durations: [Duration, string][] = [
    ['never', t('Never')],
    ['30', t('After 30 minutes')],
    ['60', t('After 1 hour')],
    ['240', t('After 4 hours')],
    ['today', t('At the end of the day')],
    ['week', t('At the end of the week')],
  ]
  if (status?.expiresAt) durations.unshift(['kept', momentOf(status.expiresAt)])
  return (
    <Dialog name={t('Set a status')} onClose={onClose}>
      <Form submitLabel={t('Save')} onSubmit={save}>
        <div class="status-row">
          <button
            type="button"
            class="button"
            aria-label={`${t('Emoji')} ${emoji.value ?? ''}`.trim()}
            onClick={() => (isPicking.value = true)}
          >
            {emoji.value ?? <Icon name="smile" />}
          </button>
          <Field
            label={t('What are you doing?')}
            name="text"
            value={text.value}
            onInput={(typed) => (text.value = typed)}
            maxLength={maxStatusText}
            autoFocus
          />
        </div>
        {emoji.value !== null && (
          <RequestButton class="link-button" onRequest={async () => (emoji.value = null)}>
            {t('Remove emoji')}
          </RequestButton>
        )}
        <Select
          label={t('Remove automatically')}
          value={duration.value}
          options={durations}
          onSelect={(chosen) => (duration.value = chosen)}
        />
        <ul class="status-suggestions" aria-label={t('Suggestions')}>
          {suggestions().map((suggested) => (
            <li key={suggested.emoji}>
              <button
                type="button"
                class="link-button"
                onClick={() => {
                  emoji.value = suggested.emoji
                  text.value = suggested.text
                  duration.value = suggested.duration
                }}
              >
                {suggested.emoji} {suggested.text}
              </button>
            </li>
          ))}
        </ul>
      </Form>
      {status && (
        <RequestButton onRequest={async () => (await attempt(remove())) && onClose()}>
          {t('Remove status')}
        </RequestButton>
      )}
      {isPicking.value && (
        <LoadedEmojiPicker
          name={t('Emoji')}
          onChoose={(chosen) => (emoji.value = chosen)}
          onClose={() => (isPicking.value = false)}
        />
      )}
    </Dialog>
  )
}

const suggestions = (): { emoji: string; text: string; duration: Duration }[] => [
  { emoji: '📅', text: t('In a meeting'), duration: '60' },
  { emoji: '🎧', text: t('Focusing'), duration: '240' },
  { emoji: '🍽️', text: t('At lunch'), duration: '60' },
  { emoji: '🏠', text: t('Working from home'), duration: 'today' },
  { emoji: '🤒', text: t('Ill'), duration: 'today' },
  { emoji: '🌴', text: t('On holiday'), duration: 'never' },
]

/** The end of a duration that begins at `now`, in epoch milliseconds; null when the status stays. Weeks end on Sunday. */
function endOf(duration: Exclude<Duration, 'kept'>, now: Date): number | null {
  if (duration === 'never') return null
  if (duration !== 'today' && duration !== 'week') return now.getTime() + Number(duration) * minute
  const days = duration === 'today' ? 1 : 7 - ((now.getDay() + 6) % 7)
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).getTime()
}
