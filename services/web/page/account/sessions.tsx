import type { Session } from '@parley/contract'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { Table } from '../ui/table.tsx'

/** The sessions of the signed-in person. */
export function Sessions({ workspace: { client } }: { workspace: Workspace }) {
  const data = useFetched(() => client.request('GET /auth/sessions'))
  const { fetched, load } = data
  const end = (sessionId: string) =>
    attempt(client.request('DELETE /auth/sessions/:sessionId', { params: { sessionId } })).then(load)
  if (!fetched.value) return <NotFetched of={data} />
  return <SessionTable sessions={fetched.value.sessions} onEnd={end} />
}

interface SessionTableProps {
  sessions: readonly Session[]
  onEnd: (sessionId: string) => Promise<unknown>
}

/** The sessions of a person. Each session except the one of this page can be ended. */
export const SessionTable = ({ sessions, onEnd }: SessionTableProps) => (
  <Table heads={[t('Device'), t('Address'), t('Last used')]} hasActions>
    {sessions.map(({ id, userAgent, ip, lastUsedAt, isCurrent }) => (
      <tr key={id}>
        <th scope="row" id={`${id}-name`}>
          {userAgent === null ? t('Unknown') : deviceOf(userAgent)}
        </th>
        <td id={`${id}-address`}>{ip}</td>
        <td class="moment">{dateTimeOf(lastUsedAt)}</td>
        <td>
          {isCurrent ? (
            t('This session')
          ) : (
            <RequestButton describedBy={`${id}-name ${id}-address`} onRequest={() => onEnd(id)}>
              {t('End session')}
            </RequestButton>
          )}
        </td>
      </tr>
    ))}
  </Table>
)

/** A short form of a browser's user agent, such as `Chrome, Linux`. Other user agents stay unchanged. */
function deviceOf(userAgent: string): string {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(userAgent)?.[1]
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)/.exec(userAgent)?.[1]
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS', CrOS: 'ChromeOS' }
  return browser && system ? `${names[browser] ?? browser}, ${names[system] ?? system}` : userAgent
}
