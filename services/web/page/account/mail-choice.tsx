import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'

/** The choice whether the person gets mails about missed messages. It is shown when the server sends such mails. */
export function MailChoice({ workspace: { client } }: { workspace: Workspace }) {
  const data = useFetched(() => client.request('GET /users/me/notifications'))
  const { fetched, load } = data
  const settings = fetched.value
  if (!settings) return <NotFetched of={data} />
  if (settings.mailsAfterSeconds === null) return null
  const minutes = Math.ceil(settings.mailsAfterSeconds / 60)

  async function change(mailsMissedMessages: boolean) {
    const saved = await attempt(client.request('PUT /users/me/notifications', { body: { mailsMissedMessages } }))
    if (saved) await load()
    // A new object, so that the checkbox is rendered anew.
    else fetched.value = { ...settings! }
  }
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          checked={settings.mailsMissedMessages}
          onChange={(event) => void change(event.currentTarget.checked)}
        />
        {t('Mails about missed messages')}
      </label>
      <span class="hint">
        {t(
          'For mentions and direct messages that you have not read after {minutes, plural, one {a minute} other {# minutes}}, while Parley is not open anywhere',
          { minutes },
        )}
      </span>
    </div>
  )
}
