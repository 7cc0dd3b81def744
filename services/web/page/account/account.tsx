import type { Session } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Density, preferences, type Theme } from '../app/preferences.ts'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, type Language, languages, setLanguage, t } from '../texts/texts.ts'
import { Field, Form, Select } from '../ui/form.tsx'

/** The pages about oneself. */
export function Account({ workspace, view }: { workspace: Workspace; view: 'preferences' | 'profile' | 'sessions' }) {
  const titles = { preferences: t('Preferences'), profile: t('Profile'), sessions: t('Sessions') }
  return (
    <main class="main">
      <header class="main-head">
        <h1>{titles[view]}</h1>
      </header>
      <div class="page">
        {view === 'preferences' && <PreferencesForm />}
        {view === 'profile' && <Profile workspace={workspace} />}
        {view === 'sessions' && <Sessions workspace={workspace} />}
      </div>
    </main>
  )
}

function PreferencesForm() {
  const { theme, density, language } = preferences.value
  const change = (next: Partial<typeof preferences.value>) => {
    preferences.value = { ...preferences.value, ...next }
  }
  const themes: [Theme, string][] = [
    ['system', t('System')],
    ['light', t('Light')],
    ['dark', t('Dark')],
  ]
  const densities: [Density, string][] = [
    ['comfortable', t('Comfortable')],
    ['compact', t('Compact')],
  ]
  return (
    <form>
      <Select label={t('Theme')} value={theme} options={themes} onSelect={(next) => change({ theme: next })} />
      <Select label={t('Density')} value={density} options={densities} onSelect={(next) => change({ density: next })} />
      <Select
        label={t('Language')}
        value={language === 'system' ? (document.documentElement.lang as Language) : language}
        options={Object.entries(languages) as [Language, string][]}
        onSelect={(next) => {
          change({ language: next })
          void setLanguage(next)
        }}
      />
    </form>
  )
}

function Profile({ workspace }: { workspace: Workspace }) {
  const isSaved = useSignal(false)
  const me = workspace.me.value
  if (!me) return null
  return (
    <>
      <Form
        action={t('Save')}
        onSubmit={async ({ userName = '' }) => {
          isSaved.value = false
          await workspace.client.request('PUT /users/me', { body: { userName } })
          isSaved.value = true
        }}
      >
        <Field
          label={t('Name')}
          name="userName"
          defaultValue={me.userName}
          maxLength={64}
          required
          autoComplete="nickname"
        />
        <Field label={t('Email')} name="email" value={me.email} readOnly />
      </Form>
      <p role="status">{isSaved.value ? t('Saved') : ''}</p>
    </>
  )
}

function Sessions({ workspace }: { workspace: Workspace }) {
  const sessions = useSignal<readonly Session[]>([])
  const load = async () => {
    const listed = await attempt(workspace.client.request('GET /auth/sessions'))
    if (listed) sessions.value = listed.sessions
  }
  useEffect(() => void load(), [])
  const end = async (sessionId: string) => {
    await attempt(workspace.client.request('DELETE /auth/sessions/:sessionId', { params: { sessionId } }))
    await load()
  }
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t('Device')}</th>
          <th scope="col">{t('Address')}</th>
          <th scope="col">{t('Last used')}</th>
          <th scope="col">
            <span class="visually-hidden">{t('Actions')}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sessions.value.map(({ id, userAgent, ip, lastUsedAt, isCurrent }) => (
          <tr key={id}>
            <td>{userAgent ?? t('Unknown')}</td>
            <td>{ip}</td>
            <td>{dateTimeOf(lastUsedAt)}</td>
            <td>
              {isCurrent ? (
                t('This session')
              ) : (
                <button type="button" class="button" onClick={() => void end(id)}>
                  {t('End session')}
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
