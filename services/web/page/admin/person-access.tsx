import type { User } from '@parley/contract'
import { SessionTable } from '../account/sessions.tsx'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Tokens } from '../tokens/tokens.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'

interface PersonAccessProps {
  workspace: Workspace
  user: User
  onClose: () => void
}

/** The sessions and API tokens of a person. Each can be ended. */
export function PersonAccess({ workspace: { client }, user, onClose }: PersonAccessProps) {
  const params = { id: user.id }
  const data = useFetched(() => client.request('GET /users/:id/sessions', { params }))
  const { fetched, load } = data
  const sessions = fetched.value?.sessions ?? []
  const end = (sessionId: string) =>
    attempt(client.request('DELETE /users/:id/sessions/:sessionId', { params: { ...params, sessionId } })).then(load)
  const endAll = () => attempt(client.request('DELETE /users/:id/sessions', { params })).then(load)
  return (
    <Dialog name={t('Access of {name}', { name: user.userName })} class="wide" onClose={onClose}>
      {!user.isBot && (
        <section aria-label={t('Sessions')}>
          <h3>{t('Sessions')}</h3>
          <NotFetched of={data} />
          {fetched.value && sessions.length === 0 && <p class="quiet">{t('There are no sessions.')}</p>}
          {sessions.length > 0 && <SessionTable sessions={sessions} onEnd={end} />}
          {sessions.some(({ isCurrent }) => !isCurrent) && (
            <div class="dialog-actions">
              <RequestButton class="button danger" onRequest={endAll}>
                {t('End all sessions')}
              </RequestButton>
            </div>
          )}
        </section>
      )}
      <section aria-label={t('API tokens')}>
        <h3>{t('API tokens')}</h3>
        <Tokens
          list={() => client.request('GET /users/:id/tokens', { params })}
          remove={(tokenId) => client.request('DELETE /users/:id/tokens/:tokenId', { params: { ...params, tokenId } })}
        />
      </section>
    </Dialog>
  )
}
