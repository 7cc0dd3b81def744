import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { changePreferences, type Density, preferences, type Theme } from '../app/preferences.ts'
import type { Workspace } from '../app/workspace.ts'
import { notificationPermission } from '../notifications/notify.ts'
import { type Language, languages, t } from '../texts/texts.ts'
import { Select } from '../ui/form.tsx'
import { attempt } from '../ui/problems.ts'
import { MailChoice } from './mail-choice.tsx'

export function PreferencesForm({ workspace }: { workspace: Workspace }) {
  const { theme, density, language } = preferences.value
  const themes: [Theme, string][] = [
    ['system', t('System')],
    ['light', t('Light')],
    ['dark', t('Dark')],
  ]
  const densities: [Density, string][] = [
    ['comfortable', t('Comfortable')],
    ['compact', t('Compact')],
  ]

  /** The language of this browser, and of the mails to the person. */
  async function changeLanguage(next: Language) {
    changePreferences({ language: next })
    await attempt(workspace.client.request('PUT /users/me/notifications', { body: { mailLanguage: next } }))
  }
  return (
    <form class="settings">
      <Select
        label={t('Theme')}
        value={theme}
        options={themes}
        onSelect={(next) => changePreferences({ theme: next })}
      />
      <Select
        label={t('Density')}
        value={density}
        options={densities}
        onSelect={(next) => changePreferences({ density: next })}
      />
      <Select
        label={t('Language')}
        value={language === 'system' ? (document.documentElement.lang as Language) : language}
        options={Object.entries(languages) as [Language, string][]}
        onSelect={(next) => void changeLanguage(next)}
      />
      <CharacterKeysChoice />
      <NotificationsChoice />
      <MailChoice workspace={workspace} />
    </form>
  )
}

/** The choice that WCAG 2.1.4 requires. */
const CharacterKeysChoice = () => (
  <div class="field">
    <label class="check">
      <input
        type="checkbox"
        checked={preferences.value.characterKeys}
        onChange={(event) => changePreferences({ characterKeys: event.currentTarget.checked })}
      />
      {t('Shortcuts of a single character')}
    </label>
    <span class="hint">{t('Outside a text box, / goes to the search and ? lists all shortcuts')}</span>
  </div>
)

/** The choice whether this browser shows notifications. Only this click asks for the browser's permission. */
function NotificationsChoice() {
  const permission = useSignal(notificationPermission())
  useEffect(() => {
    if (permission.value === 'unsupported') return
    const watching = new AbortController()
    void navigator.permissions.query({ name: 'notifications' }).then((status) => {
      const update = () => {
        permission.value = notificationPermission()
      }
      status.addEventListener('change', update, { signal: watching.signal })
    })
    return () => watching.abort()
  }, [])
  if (permission.value === 'unsupported') return null
  const isOn = preferences.value.notifications && permission.value === 'granted'

  async function change(wanted: boolean) {
    permission.value = wanted ? await Notification.requestPermission() : permission.value
    changePreferences({ notifications: wanted && permission.value === 'granted' })
  }
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          checked={isOn}
          disabled={permission.value === 'denied'}
          onChange={(event) => void change(event.currentTarget.checked)}
        />
        {t('Desktop notifications')}
      </label>
      <span class="hint">
        {permission.value === 'denied'
          ? t('This browser does not allow notifications for this page. Its settings can change that')
          : t(
              'For mentions, direct messages, replies in your threads, and every message of channels that you choose, while you look at something else',
            )}
      </span>
    </div>
  )
}
