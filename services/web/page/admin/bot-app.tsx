import type { Bot } from '@parley/contract'
import { useSignal } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/form.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { SavingForm } from '../ui/saving-form.tsx'
import { SecretField } from '../ui/secret-field.tsx'

interface BotAppProps {
  workspace: Workspace
  bot: Bot
  onChanged: () => void
  onClose: () => void
}

/** The address to which clicks on the buttons of a bot are sent, and the secret that signs these requests. */
export function BotApp({ workspace: { client }, bot, onChanged, onClose }: BotAppProps) {
  const secret = useSignal<string | null>(null)
  const params = { botId: bot.id }

  async function rotate() {
    const changed = await attempt(client.request('PUT /bots/:botId', { params, body: { signingSecret: 'rotate' } }))
    if (changed?.signingSecret !== undefined) secret.value = changed.signingSecret
  }
  return (
    <Dialog name={t('Buttons of {name}', { name: bot.userName })} onClose={onClose}>
      <SavingForm
        onSubmit={async ({ interactivityUrl = '' }) => {
          await client.request('PUT /bots/:botId', { params, body: { interactivityUrl: interactivityUrl.trim() } })
          onChanged()
        }}
      >
        <Field
          label={t('Interactivity URL')}
          hint={t(
            'Clicks on the buttons of its messages are sent to this address. Without an address the buttons do nothing',
          )}
          name="interactivityUrl"
          placeholder="https://"
          dir="ltr"
          defaultValue={bot.interactivityUrl ?? ''}
          maxLength={2_000}
          autoFocus
        />
      </SavingForm>
      <section aria-label={t('Signing secret')}>
        <h3>{t('Signing secret')}</h3>
        {secret.value === null ? (
          <>
            <p class="quiet">
              {t(
                'Commands, clicks, and events in the format of Slack are signed with it. A new secret replaces it immediately.',
              )}
            </p>
            <div class="dialog-actions">
              <RequestButton onRequest={rotate}>{t('New signing secret')}</RequestButton>
            </div>
          </>
        ) : (
          <SecretField
            label={t('Signing secret')}
            hint={t('The program uses it to verify requests from this server.')}
            value={secret.value}
          />
        )}
      </section>
    </Dialog>
  )
}
